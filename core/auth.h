// Who may use which path (WIRE "Tokens").
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"

namespace leat {

// What a path belongs to. Open paths ask for nothing.
enum class Plane {
  kOpen,       // /version, /healthz, /readyz, /metrics
  kPublicSql,  // /v1/sql/*
  kControl,    // the control plane, and the change log
  kReads,      // a follower's read paths
};

// The token of an `Authorization: Bearer TOKEN` header, nullopt for any other header.
std::optional<std::string_view> bearer_token(std::string_view authorization);

// Takes a time that does not depend on where the texts differ, nor on their lengths' difference.
bool equal_in_constant_time(std::string_view a, std::string_view b);

// Immutable; any thread. An empty token is one that is not configured.
class AccessRules {
 public:
  // kConfigInvalid when both tokens are set and equal.
  static Result<AccessRules> make(std::string auth_token, std::string sql_auth_token);

  // `authorization` is the header's value, "" when absent.
  bool allows(Plane plane, std::string_view authorization) const;

  // kConfigInvalid when listening on `address` would hand an open plane to other machines: anything but loopback needs
  // `auth_token`, since without it the control plane is open.
  Result<void> check_bind_address(std::string_view address) const;

 private:
  AccessRules(std::string auth_token, std::string sql_auth_token)
      : auth_token_(std::move(auth_token)), sql_auth_token_(std::move(sql_auth_token)) {}
  std::string auth_token_;
  std::string sql_auth_token_;
};

// True for 127.0.0.0/8, ::1 and `localhost`.
bool is_loopback(std::string_view address);

}  // namespace leat
