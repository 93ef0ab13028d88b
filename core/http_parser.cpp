#include "core/http_parser.h"

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/verb.hpp>
#include <charconv>

namespace leat::http_detail {

namespace http = boost::beast::http;

namespace {

// A body announced long must not take its memory before it has arrived.
constexpr std::uint64_t body_reserve_bytes_max = 256u << 10;

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view item = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const std::size_t begin = item.find_first_not_of(" \t");
    if (begin == std::string_view::npos) continue;
    item = item.substr(begin, item.find_last_not_of(" \t") - begin + 1);
    out.emplace_back(item);
  }
  return out;
}

void append_number(std::string& out, std::size_t number) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, number);
  out.append(digits, end.ptr);
}

bool is_safe(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos;
}

}  // namespace

RequestParser::RequestParser(const HttpServerLimits& limits) {
  eager(true);
  header_limit(static_cast<std::uint32_t>(limits.header_bytes_max));
  body_limit(limits.request_bytes_max);
}

void RequestParser::on_request_impl(http::verb method, beast_view method_text, beast_view target, int, error_code&) {
  is_head = method == http::verb::head;
  request.method.assign(method_text.data(), method_text.size());
  const std::size_t question = target.find('?');
  if (question == beast_view::npos) {
    request.path.assign(target.data(), target.size());
  } else {
    request.path.assign(target.data(), question);
    request.query.assign(target.data() + question + 1, target.size() - question - 1);
  }
}

void RequestParser::on_field_impl(http::field name, beast_view name_text, beast_view value, error_code&) {
  const auto assign = [&](std::string& to) { to.assign(value.data(), value.size()); };
  switch (name) {
    case http::field::authorization:
      return assign(request.authorization);
    case http::field::host:
      return assign(host);
    case http::field::expect:
      expects_continue = boost::beast::iequals(value, "100-continue");
      return;
    case http::field::upgrade:
      upgrade_header.is_websocket = boost::beast::iequals(value, "websocket");
      return;
    case http::field::sec_websocket_key:
      return assign(upgrade_header.key);
    case http::field::sec_websocket_version:
      return assign(upgrade_header.version);
    case http::field::sec_websocket_protocol:
      for (std::string& protocol : split_list(std::string_view(value.data(), value.size()))) {
        upgrade_header.subprotocols.push_back(std::move(protocol));
      }
      return;
    case http::field::unknown:
      break;
    default:
      return;
  }
  if (boost::beast::iequals(name_text, "rindle-request-id")) {
    request.has_many_request_ids = request.has_many_request_ids || !request.request_id.empty();
    assign(request.request_id);
  } else if (boost::beast::iequals(name_text, "leat-values")) {
    assign(request.values);
  } else if (boost::beast::iequals(name_text, "x-rindle-project")) {
    assign(request.project);
  }
}

void RequestParser::on_body_init_impl(const boost::optional<std::uint64_t>& content_length, error_code&) {
  if (content_length) {
    request.body.reserve(static_cast<std::size_t>(std::min<std::uint64_t>(*content_length, body_reserve_bytes_max)));
  }
}

std::size_t RequestParser::on_body_impl(beast_view body, error_code&) {
  request.body.append(body.data(), body.size());
  return body.size();
}

std::size_t RequestParser::on_chunk_body_impl(std::uint64_t, beast_view body, error_code&) {
  request.body.append(body.data(), body.size());
  return body.size();
}

void write_response_head(std::string& out, const HttpResponse& response, std::string_view date, bool keep_alive) {
  out.assign("HTTP/1.1 ");
  append_number(out, static_cast<std::size_t>(response.status));
  const auto reason = http::obsolete_reason(http::int_to_status(static_cast<unsigned>(response.status)));
  out.append(" ").append(reason.data(), reason.size()).append("\r\nDate: ").append(date);
  const bool has_body = response.status != 204 && response.status != 304;
  if (has_body) {
    out.append("\r\nContent-Type: ").append(response.content_type).append("\r\nContent-Length: ");
    append_number(out, response.body.size());
  }
  for (const auto& [name, value] : response.headers) {
    if (is_safe(name) && is_safe(value)) out.append("\r\n").append(name).append(": ").append(value);
  }
  out.append(keep_alive ? "\r\nConnection: keep-alive\r\n\r\n" : "\r\nConnection: close\r\n\r\n");
}

HttpResponse error_response(int status, std::string_view text) {
  HttpResponse response;
  response.status = status;
  response.body.append("{\"error\":\"").append(text).append("\"}");
  return response;
}

}  // namespace leat::http_detail
