// Counters, gauges and histograms, and their Prometheus text form. Updates are lock-free and may come from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leat {

// Only grows.
class Counter {
 public:
  void add(std::uint64_t amount = 1) { value_.fetch_add(amount, std::memory_order_relaxed); }
  std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

class Gauge {
 public:
  void set(std::int64_t value) { value_.store(value, std::memory_order_relaxed); }
  void add(std::int64_t amount) { value_.fetch_add(amount, std::memory_order_relaxed); }
  std::int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> value_{0};
};

// Counts observations into fixed buckets; bucket i holds those at most `upper_bounds[i]`.
class Histogram {
 public:
  explicit Histogram(std::vector<double> upper_bounds);  // ascending
  void observe(double value);

  const std::vector<double>& upper_bounds() const { return upper_bounds_; }
  // One count a bucket, not cumulative; the last one is beyond every bound.
  std::vector<std::uint64_t> counts() const;
  double sum() const { return sum_.load(std::memory_order_relaxed); }

 private:
  std::vector<double> upper_bounds_;
  std::vector<std::atomic<std::uint64_t>> counts_;
  std::atomic<double> sum_{0};
};

// 100 us to 10 s.
std::vector<double> latency_seconds_buckets();

using MetricLabels = std::vector<std::pair<std::string, std::string>>;

// Owns metrics; references stay good for its lifetime. Asking again for the same name and labels gives the same one;
// one name has one kind (a bug otherwise: throws). Any thread; registering takes a lock, updating does not.
class MetricsRegistry {
 public:
  MetricsRegistry();
  ~MetricsRegistry();
  Counter& counter(std::string_view name, std::string_view help, MetricLabels labels = {});
  Gauge& gauge(std::string_view name, std::string_view help, MetricLabels labels = {});
  Histogram& histogram(std::string_view name, std::string_view help, std::vector<double> upper_bounds,
                       MetricLabels labels = {});
  // A gauge read when scraped, on the scraping thread, with the registry locked: `read` must be quick, must not call
  // the registry, and what it captures must outlive the registry.
  void gauge_callback(std::string_view name, std::string_view help, std::function<double()> read,
                      MetricLabels labels = {});

  // Prometheus text format 0.0.4, sorted by name.
  std::string to_text() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

inline constexpr std::string_view kMetricsContentType = "text/plain; version=0.0.4";

}  // namespace leat
