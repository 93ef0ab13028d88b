// What both servers do with a request before one of their planes sees it: request id, project, open paths, tokens.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/auth.h"
#include "core/error.h"
#include "core/http.h"
#include "core/metrics.h"

namespace leat {

class FrontDoor {
 public:
  struct Options {
    std::string service;     // what /version answers
    std::string project_id;  // empty: any project
    AccessRules access;
    std::function<Result<void>()> ready;  // an error is why /readyz answers 503; any thread, quick
  };
  // `metrics` must outlive the door.
  FrontDoor(Options options, const MetricsRegistry& metrics);

  // Answers what ends here: a bad request id, a wrong project, an open path, a wrong token. Else hands the reply back;
  // it then echoes the request id.
  std::optional<HttpReply> admit(const HttpRequest& request, HttpReply reply, Plane plane) const;

  bool allows(Plane plane, std::string_view authorization) const {
    return options_.access.allows(plane, authorization);
  }

 private:
  bool answer_open_path(const HttpRequest& request, HttpReply& reply) const;

  Options options_;
  const MetricsRegistry& metrics_;
};

// A reply that adds headers to whatever is sent through it.
HttpReply with_headers(HttpReply reply, std::vector<std::pair<std::string, std::string>> headers);

HttpResponse error_text_response(int status, std::string_view message);  // {"error": message}

}  // namespace leat
