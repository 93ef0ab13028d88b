#include "core/auth.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <array>
#include <boost/asio/ip/address.hpp>

namespace leat {

namespace {

using Digest = std::array<unsigned char, SHA256_DIGEST_LENGTH>;

Digest digest(std::string_view text) {
  Digest out{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), out.data());
  return out;
}

bool is_bearer(std::string_view scheme) {
  constexpr std::string_view kBearer = "bearer";
  if (scheme.size() != kBearer.size()) return false;
  for (std::size_t i = 0; i < scheme.size(); ++i) {
    if ((scheme[i] | 0x20) != kBearer[i]) return false;
  }
  return true;
}

}  // namespace

std::optional<std::string_view> bearer_token(std::string_view authorization) {
  const std::size_t space = authorization.find(' ');
  if (space == std::string_view::npos || !is_bearer(authorization.substr(0, space))) return std::nullopt;
  const std::size_t begin = authorization.find_first_not_of(' ', space);
  if (begin == std::string_view::npos) return std::nullopt;
  const std::size_t end = authorization.find_last_not_of(' ');
  return authorization.substr(begin, end - begin + 1);
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  const Digest digest_a = digest(a);
  const Digest digest_b = digest(b);
  return CRYPTO_memcmp(digest_a.data(), digest_b.data(), digest_a.size()) == 0;
}

Result<AccessRules> AccessRules::make(std::string auth_token, std::string sql_auth_token) {
  if (!auth_token.empty() && auth_token == sql_auth_token) {
    return make_error(ErrorCode::kConfigInvalid, "authToken and sqlAuthToken must differ");
  }
  return AccessRules(std::move(auth_token), std::move(sql_auth_token));
}

bool AccessRules::allows(Plane plane, std::string_view authorization) const {
  const bool has_auth = !auth_token_.empty();
  const bool has_sql = !sql_auth_token_.empty();
  if (plane == Plane::kOpen || (!has_auth && !has_sql)) return true;

  const std::optional<std::string_view> token = bearer_token(authorization);
  // Without authToken the control plane asks for no token, but a wrong one is refused everywhere.
  if (!token) return authorization.empty() && plane == Plane::kControl && !has_auth;

  // Both comparisons always run: the time must not tell which token is configured or nearly right.
  const bool is_auth = equal_in_constant_time(*token, auth_token_);
  const bool is_sql = equal_in_constant_time(*token, sql_auth_token_);
  if (has_auth && is_auth) return true;
  return has_sql && is_sql && (plane != Plane::kControl || !has_auth);
}

Result<void> AccessRules::check_bind_address(std::string_view address) const {
  if (is_loopback(address) || !auth_token_.empty()) return {};
  return make_error(ErrorCode::kConfigInvalid,
                    "refusing to listen on " + std::string(address) +
                        ": set authToken first (without it the control plane is open, and only loopback may be)");
}

bool is_loopback(std::string_view address) {
  if (address == "localhost") return true;
  boost::system::error_code error;
  const auto parsed = boost::asio::ip::make_address(address, error);
  return !error && parsed.is_loopback();
}

}  // namespace leat
