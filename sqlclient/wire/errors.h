// Errors as answers.
#pragma once

#include "core/error.h"
#include "core/http.h"
#include "sqlclient/wire/statement.h"

namespace leat::wire {

int http_status(const Error& error);
// Public plane: {"code","message","retry_scope",...}; control plane: {"error","code"}. A body that is no JSON, an
// unknown path and a wrong token answer {"error"} on both. Adds Retry-After where waiting helps.
HttpResponse error_response(const Error& error, Plane plane);
HttpResponse json_response(std::string body);

}  // namespace leat::wire
