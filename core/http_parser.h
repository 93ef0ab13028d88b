// Inside the HTTP server: the request parser. Keeps the headers that Leat knows and nothing else.
#pragma once

#include <boost/beast/http/basic_parser.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/http.h"

namespace leat::http_detail {

// The header of a WebSocket upgrade, as the handshake needs it.
struct UpgradeHeader {
  bool is_websocket = false;
  std::string key;
  std::string version;
  std::vector<std::string> subprotocols;
};

// Parses one request; made anew for each.
class RequestParser final : public boost::beast::http::basic_parser<true> {
 public:
  explicit RequestParser(const HttpServerLimits& limits);
  HttpRequest request;
  UpgradeHeader upgrade_header;
  std::string host;
  bool is_head = false;
  bool expects_continue = false;

 private:
  using error_code = boost::beast::error_code;
  using beast_view = boost::beast::string_view;
  void on_request_impl(boost::beast::http::verb method, beast_view method_text, beast_view target, int version,
                       error_code& error) override;
  void on_response_impl(int, beast_view, int, error_code&) override {}
  void on_field_impl(boost::beast::http::field name, beast_view name_text, beast_view value,
                     error_code& error) override;
  void on_header_impl(error_code&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>& content_length, error_code& error) override;
  std::size_t on_body_impl(beast_view body, error_code& error) override;
  void on_chunk_header_impl(std::uint64_t, beast_view, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t remain, beast_view body, error_code& error) override;
  void on_finish_impl(error_code&) override {}
};

// The head of an answer, written into `out` (which keeps its memory).
void write_response_head(std::string& out, const HttpResponse& response, std::string_view date, bool keep_alive);

// `{"error":"<text>"}`; `text` needs no escaping.
HttpResponse error_response(int status, std::string_view text);

}  // namespace leat::http_detail
