#include "core/front_door.h"

#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <memory>

#include "core/log.h"
#include "core/request_id.h"
#include "core/version.h"

namespace leat {

namespace {

namespace json = boost::json;

class HeaderSink final : public HttpReply::Sink {
 public:
  HeaderSink(HttpReply reply, std::vector<std::pair<std::string, std::string>> headers)
      : reply_(std::move(reply)), headers_(std::move(headers)) {}
  void send(HttpResponse response) override {
    for (auto& header : headers_) response.headers.push_back(std::move(header));
    reply_.send(std::move(response));
  }

 private:
  HttpReply reply_;
  std::vector<std::pair<std::string, std::string>> headers_;
};

}  // namespace

HttpReply with_headers(HttpReply reply, std::vector<std::pair<std::string, std::string>> headers) {
  return HttpReply(std::make_shared<HeaderSink>(std::move(reply), std::move(headers)));
}

HttpResponse error_text_response(int status, std::string_view message) {
  HttpResponse response;
  response.status = status;
  response.body = json::serialize(json::value{{"error", json::string_view(message.data(), message.size())}});
  return response;
}

FrontDoor::FrontDoor(Options options, const MetricsRegistry& metrics)
    : options_(std::move(options)), metrics_(metrics) {}

std::optional<HttpReply> FrontDoor::admit(const HttpRequest& request, HttpReply reply, Plane plane) const {
  if (!request.request_id.empty() || request.has_many_request_ids) {
    if (request.has_many_request_ids || !is_request_id(request.request_id)) {
      HttpResponse refused;
      refused.status = 400;
      refused.body = json::serialize(
          json::value{{"code", to_text(ErrorCode::kRequestIdInvalid)},
                      {"message", "Rindle-Request-Id must be sent once and be rid1. and 32 lowercase hex digits"},
                      {"retry_scope", "never"}});
      reply.send(std::move(refused));
      return std::nullopt;
    }
    reply = with_headers(std::move(reply), {{"Rindle-Request-Id", request.request_id}});
  }
  if (answer_open_path(request, reply)) return std::nullopt;
  if (!options_.project_id.empty() && !request.project.empty() && request.project != options_.project_id) {
    reply.send(error_text_response(409, "wrong project: this server belongs to project \"" + options_.project_id +
                                            "\", the request names \"" + request.project + '"'));
    return std::nullopt;
  }
  if (!options_.access.allows(plane, request.authorization)) {
    reply.send(error_text_response(401, "unauthorized"));
    return std::nullopt;
  }
  if (leat::log().is_on(LogLevel::kDebug)) {
    leat::log().debug("request",
                      {{"method", request.method}, {"path", request.path}, {kLogRequestId, request.request_id}});
  }
  return reply;
}

bool FrontDoor::answer_open_path(const HttpRequest& request, HttpReply& reply) const {
  if (request.method != "GET") return false;
  HttpResponse response;
  if (request.path == "/version") {
    response.body =
        json::serialize(json::value{{"service", options_.service}, {"version", kVersion}, {"sha", "unknown"}});
  } else if (request.path == "/healthz") {
    response.body = R"({"status":"ok"})";
  } else if (request.path == "/readyz") {
    if (auto ready = options_.ready(); ready.has_error()) {
      response.status = 503;
      response.body = json::serialize(json::value{{"status", "not ready"}, {"reason", ready.error().message}});
    } else {
      response.body = R"({"status":"ready"})";
    }
  } else if (request.path == "/metrics") {
    response.content_type = kMetricsContentType;
    response.body = metrics_.to_text();
  } else {
    return false;
  }
  reply.send(std::move(response));
  return true;
}

}  // namespace leat
