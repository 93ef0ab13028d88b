#include "core/metrics.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

namespace leat {
namespace {

TEST(Metrics, TextHasHelpTypeAndSortedSamples) {
  MetricsRegistry registry;
  registry.counter("leat_writes_total", "Writes.", {{"plane", "sql"}}).add(3);
  registry.counter("leat_writes_total", "Writes.", {{"plane", "control"}}).add();
  registry.gauge("leat_open", "Open things.").set(-2);
  registry.gauge_callback("leat_lag_seconds", "Lag.", [] { return 1.5; });
  EXPECT_EQ(registry.to_text(),
            "# HELP leat_lag_seconds Lag.\n# TYPE leat_lag_seconds gauge\nleat_lag_seconds 1.5\n"
            "# HELP leat_open Open things.\n# TYPE leat_open gauge\nleat_open -2\n"
            "# HELP leat_writes_total Writes.\n# TYPE leat_writes_total counter\n"
            "leat_writes_total{plane=\"control\"} 1\nleat_writes_total{plane=\"sql\"} 3\n");
}

TEST(Metrics, HistogramBucketsAreCumulativeAndInclusive) {
  MetricsRegistry registry;
  Histogram& histogram = registry.histogram("h", "H.", {1, 2}, {{"a", "b"}});
  histogram.observe(1);
  histogram.observe(1.5);
  histogram.observe(7);
  EXPECT_EQ(registry.to_text(),
            "# HELP h H.\n# TYPE h histogram\nh_bucket{a=\"b\",le=\"1\"} 1\nh_bucket{a=\"b\",le=\"2\"} 2\n"
            "h_bucket{a=\"b\",le=\"+Inf\"} 3\nh_sum{a=\"b\"} 9.5\nh_count{a=\"b\"} 3\n");
}

TEST(Metrics, LabelValuesAreEscaped) {
  MetricsRegistry registry;
  registry.counter("c", "Two\nlines.", {{"k", "a\"b\\c\nd"}}).add();
  EXPECT_EQ(registry.to_text(), "# HELP c Two\\nlines.\n# TYPE c counter\nc{k=\"a\\\"b\\\\c\\nd\"} 1\n");
}

TEST(Metrics, TheSameNameAndLabelsAreTheSameMetricAndAnotherKindIsABug) {
  MetricsRegistry registry;
  EXPECT_EQ(&registry.counter("c", "C."), &registry.counter("c", "C."));
  EXPECT_NE(&registry.counter("c", "C."), &registry.counter("c", "C.", {{"a", "1"}}));
  EXPECT_THROW(registry.gauge("c", "C."), std::logic_error);
}

TEST(Metrics, UpdatesFromManyThreadsAreAllCounted) {
  MetricsRegistry registry;
  Counter& counter = registry.counter("c", "C.");
  Histogram& histogram = registry.histogram("h", "H.", latency_seconds_buckets());
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 1000; ++i) {
          counter.add();
          histogram.observe(0.5);
        }
      });
    }
  }
  EXPECT_EQ(counter.value(), 4000u);
  EXPECT_DOUBLE_EQ(histogram.sum(), 2000);
}

}  // namespace
}  // namespace leat
