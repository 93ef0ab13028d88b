#include "core/metrics.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <mutex>
#include <stdexcept>
#include <variant>

namespace leat {

namespace {

std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value);
  return {buffer, end.ptr};
}

std::string escaped(std::string_view text, bool with_quotes) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '"' && with_quotes) {
      out += "\\\"";
    } else {
      out += c;
    }
  }
  return out;
}

// `a="1",b="2"`: what stands between the braces.
std::string labels_text(const MetricLabels& labels) {
  std::string out;
  for (const auto& [name, value] : labels) {
    if (!out.empty()) out += ',';
    out.append(name).append("=\"").append(escaped(value, true)).append("\"");
  }
  return out;
}

void append_sample(std::string& out, std::string_view name, std::string_view labels, std::string_view value) {
  out.append(name);
  if (!labels.empty()) out.append("{").append(labels).append("}");
  out.append(" ").append(value).append("\n");
}

using Metric =
    std::variant<std::unique_ptr<Counter>, std::unique_ptr<Gauge>, std::unique_ptr<Histogram>, std::function<double()>>;

void append_metric(std::string& out, const std::string& name, const std::string& labels, const Metric& metric) {
  if (const auto* counter = std::get_if<std::unique_ptr<Counter>>(&metric)) {
    append_sample(out, name, labels, std::to_string((*counter)->value()));
  } else if (const auto* gauge = std::get_if<std::unique_ptr<Gauge>>(&metric)) {
    append_sample(out, name, labels, std::to_string((*gauge)->value()));
  } else if (const auto* read = std::get_if<std::function<double()>>(&metric)) {
    append_sample(out, name, labels, number_text((*read)()));
  } else {
    const Histogram& histogram = *std::get<std::unique_ptr<Histogram>>(metric);
    const std::vector<std::uint64_t> counts = histogram.counts();
    const std::string prefix = labels.empty() ? "" : labels + ",";
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      total += counts[i];
      const std::string bound = i < histogram.upper_bounds().size() ? number_text(histogram.upper_bounds()[i]) : "+Inf";
      append_sample(out, name + "_bucket", prefix + "le=\"" + bound + "\"", std::to_string(total));
    }
    append_sample(out, name + "_sum", labels, number_text(histogram.sum()));
    append_sample(out, name + "_count", labels, std::to_string(total));
  }
}

}  // namespace

Histogram::Histogram(std::vector<double> upper_bounds)
    : upper_bounds_(std::move(upper_bounds)), counts_(upper_bounds_.size() + 1) {}

void Histogram::observe(double value) {
  const auto bound = std::lower_bound(upper_bounds_.begin(), upper_bounds_.end(), value);
  counts_[static_cast<std::size_t>(bound - upper_bounds_.begin())].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

std::vector<std::uint64_t> Histogram::counts() const {
  std::vector<std::uint64_t> out;
  out.reserve(counts_.size());
  for (const auto& count : counts_) out.push_back(count.load(std::memory_order_relaxed));
  return out;
}

std::vector<double> latency_seconds_buckets() {
  return {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};
}

struct MetricsRegistry::Impl {
  struct Family {
    std::string help;
    std::string_view kind;
    std::map<std::string, Metric> metrics;  // by label text
  };
  mutable std::mutex mutex;
  std::map<std::string, Family, std::less<>> families;

  Metric& find_or_make(std::string_view name, std::string_view help, std::string_view kind, const MetricLabels& labels,
                       const std::function<Metric()>& make) {
    const std::lock_guard lock(mutex);
    auto [family, is_new] = families.try_emplace(std::string(name), Family{std::string(help), kind, {}});
    if (!is_new && family->second.kind != kind) {
      throw std::logic_error("metric " + std::string(name) + " is registered as two kinds");
    }
    std::string key = labels_text(labels);
    const auto found = family->second.metrics.find(key);
    if (found != family->second.metrics.end()) return found->second;
    return family->second.metrics.emplace(std::move(key), make()).first->second;
  }
};

MetricsRegistry::MetricsRegistry() : impl_(std::make_unique<Impl>()) {}
MetricsRegistry::~MetricsRegistry() = default;

Counter& MetricsRegistry::counter(std::string_view name, std::string_view help, MetricLabels labels) {
  Metric& metric = impl_->find_or_make(name, help, "counter", labels, [] { return std::make_unique<Counter>(); });
  return *std::get<std::unique_ptr<Counter>>(metric);
}

Gauge& MetricsRegistry::gauge(std::string_view name, std::string_view help, MetricLabels labels) {
  Metric& metric = impl_->find_or_make(name, help, "gauge", labels, [] { return std::make_unique<Gauge>(); });
  return *std::get<std::unique_ptr<Gauge>>(metric);
}

Histogram& MetricsRegistry::histogram(std::string_view name, std::string_view help, std::vector<double> upper_bounds,
                                      MetricLabels labels) {
  Metric& metric = impl_->find_or_make(name, help, "histogram", labels,
                                       [&] { return std::make_unique<Histogram>(std::move(upper_bounds)); });
  return *std::get<std::unique_ptr<Histogram>>(metric);
}

void MetricsRegistry::gauge_callback(std::string_view name, std::string_view help, std::function<double()> read,
                                     MetricLabels labels) {
  impl_->find_or_make(name, help, "gauge", labels, [&] { return std::move(read); });
}

std::string MetricsRegistry::to_text() const {
  const std::lock_guard lock(impl_->mutex);
  std::string out;
  for (const auto& [name, family] : impl_->families) {
    out.append("# HELP ").append(name).append(" ").append(escaped(family.help, false)).append("\n");
    out.append("# TYPE ").append(name).append(" ").append(family.kind).append("\n");
    for (const auto& [labels, metric] : family.metrics) append_metric(out, name, labels, metric);
  }
  return out;
}

}  // namespace leat
