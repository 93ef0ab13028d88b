#include "sqlclient/wire/requests.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/limits.h"
#include "sqlclient/wire/limits.h"

namespace leat::wire {
namespace {

template <class T>
std::string refusal(const Result<T>& parsed) {
  return parsed.has_error() ? std::string(to_text(parsed.error().code)) + ": " + parsed.error().message : "accepted";
}
template <class T>
std::string code(const Result<T>& parsed) {
  return parsed.has_error() ? std::string(to_text(parsed.error().code)) : "accepted";
}
std::string with_arguments(const std::string& arguments) {
  return R"({"statement":{"sql":"select 1","args":)" + arguments + "}}";
}
Value only_value(const std::string& json, bool blobs = false) {
  return parse_execute(with_arguments("[" + json + "]"), blobs).value().statements.front().positional.front();
}
std::string value_refusal(const std::string& json, bool blobs = false) {
  return code(parse_execute(with_arguments("[" + json + "]"), blobs));
}

TEST(ExecuteRequest, ABodyThatIsNoObjectIsInvalidJson) {
  for (const char* body : {"", "{", "[]", "1", "\"x\"", "null", "{\"statement\":{\"sql\":\"\xff\"}}"}) {
    EXPECT_EQ(refusal(parse_execute(body, false)), "JSON_INVALID: invalid JSON body") << body;
  }
}

TEST(ExecuteRequest, NestingWithoutEndIsRefused) {
  EXPECT_EQ(code(parse_execute(with_arguments(std::string(100'000, '[')), false)), "JSON_INVALID");
  const std::string deep = std::string(31, '[') + std::string(31, ']');
  EXPECT_EQ(code(parse_execute(R"({"ignored":)" + deep + "}", false)), "STATEMENT_INVALID");
  EXPECT_EQ(code(parse_execute(R"({"ignored":[)" + deep + "]}", false)), "JSON_INVALID");
}

TEST(ExecuteRequest, NamesWhatIsMissingOrWrong) {
  const auto of = [](const char* body) { return refusal(parse_execute(body, false)); };
  EXPECT_EQ(of("{}"), "STATEMENT_INVALID: request missing statement");
  EXPECT_EQ(of(R"({"statement":null})"), "STATEMENT_INVALID: request missing statement");
  EXPECT_EQ(of(R"({"statement":"select 1"})"), "STATEMENT_INVALID: statement missing sql");
  EXPECT_EQ(of(R"({"statement":{}})"), "STATEMENT_INVALID: statement missing sql");
  EXPECT_EQ(of(R"({"statement":{"sql":1}})"), "STATEMENT_INVALID: statement missing sql");
  EXPECT_EQ(of(R"({"statement":{"sql":"x","args":1}})"),
            "STATEMENT_INVALID: statement args must be an array or object");
  EXPECT_EQ(of(R"({"statement":{"sql":"x","want_rows":1}})"), "STATEMENT_INVALID: want_rows must be a boolean");
  EXPECT_EQ(of(R"({"statement":{"sql":"x"},"idempotency_key":1})"),
            "STATEMENT_INVALID: idempotency_key must be a string");
  EXPECT_EQ(of(R"({"statement":{"sql":"x"},"consistency":"x"})"),
            "STATEMENT_INVALID: consistency must be one of session, strong, or eventual; got \"x\"");
  EXPECT_EQ(code(parse_execute(R"({"statement":{"sql":"x"},"default_consistency":"x"})", false)), "STATEMENT_INVALID");
  for (const char* cursor : {"\"\"", "\"w:1\"", "\"w:000000000000000G\"", "\"w:000000000000000A\"", "1"}) {
    EXPECT_EQ(code(parse_execute(std::string(R"({"statement":{"sql":"x"},"session_cursor":)") + cursor + "}", false)),
              "STATEMENT_INVALID")
        << cursor;
  }
}

TEST(ExecuteRequest, CarriesItsFields) {
  const auto request = parse_execute(R"({"statement":{"sql":"select :a","args":{"a":null,":b":"x"},"want_rows":false},)"
                                     R"("idempotency_key":"k","consistency":"strong","default_consistency":"eventual",)"
                                     R"("session_cursor":"w:0001000000000005","unknown":[]})",
                                     false)
                           .value();
  ASSERT_EQ(request.statements.size(), 1u);
  EXPECT_TRUE(request.statements[0].has_names);
  EXPECT_EQ(request.statements[0].named.size(), 2u);
  EXPECT_FALSE(request.statements[0].wants_rows);
  EXPECT_EQ(request.idempotency_key, "k");
  EXPECT_EQ(request.consistency, Consistency::kStrong);
  EXPECT_EQ(request.session_cursor, Cursor(Epoch{1}, 5));
}

TEST(PublicValue, UntaggedNumbersAreReal) {
  EXPECT_EQ(only_value("1"), Value(1.0));
  EXPECT_EQ(only_value("1.5"), Value(1.5));
  EXPECT_EQ(only_value("18446744073709551615"), Value(18446744073709551615.0));
  EXPECT_EQ(only_value("1e308"), Value(1e308));
  EXPECT_EQ(only_value("null"), Value(Null{}));
  EXPECT_EQ(only_value(R"("a\u0000b")"), Value(Text{std::string("a\0b", 3)}));
}

TEST(PublicValue, IntegersAreTaggedAndCanonical) {
  const auto i64 = [](const std::string& text) { return R"({"$rindle":"i64","value":")" + text + "\"}"; };
  EXPECT_EQ(only_value(i64("-9223372036854775808")), Value(std::numeric_limits<std::int64_t>::min()));
  EXPECT_EQ(only_value(i64("9223372036854775807")), Value(std::numeric_limits<std::int64_t>::max()));
  for (const char* bad : {"", "-", "+1", "01", "-0", "00", " 1", "1 ", "1.0", "1e3", "0x1", "9223372036854775808",
                          "-9223372036854775809"}) {
    EXPECT_EQ(value_refusal(i64(bad)), "STATEMENT_INVALID") << bad;
  }
}

TEST(PublicValue, InfinitiesAreTagged) {
  EXPECT_EQ(only_value(R"({"$rindle":"float","value":"-Infinity"})"), Value(-std::numeric_limits<double>::infinity()));
  for (const char* bad : {"NaN", "1.5", "infinity", "+Infinity"}) {
    EXPECT_EQ(value_refusal(std::string(R"({"$rindle":"float","value":")") + bad + "\"}"), "STATEMENT_INVALID") << bad;
  }
}

TEST(PublicValue, BlobsNeedTheHeaderAndStrictBase64) {
  const auto blob = [](const std::string& text) { return R"({"$rindle":"blob","value":")" + text + "\"}"; };
  EXPECT_EQ(value_refusal(blob("AP8=")), "VALUE_UNSUPPORTED");
  EXPECT_EQ(only_value(blob("AP8="), true), Value(Blob{std::string("\0\xff", 2)}));
  EXPECT_EQ(only_value(blob(""), true), Value(Blob{""}));
  EXPECT_EQ(only_value(blob("+/+/"), true), Value(Blob{"\xfb\xff\xbf"}));
  for (const char* bad :
       {"A", "AA", "AAA", "A===", "====", "AP8=AP8=", "AP8", "A-8=", "AP 8", "AB=C", "AP9=", "AB=="}) {
    EXPECT_EQ(value_refusal(blob(bad), true), "STATEMENT_INVALID") << bad;
  }
}

TEST(PublicValue, WhatHasNoMeaningIsRefused) {
  EXPECT_EQ(value_refusal("true"), "STATEMENT_INVALID");
  EXPECT_EQ(value_refusal("[1]"), "VALUE_UNSUPPORTED");
  EXPECT_EQ(value_refusal("{}"), "STATEMENT_INVALID");
  EXPECT_EQ(value_refusal(R"({"$rindle":"date","value":"x"})"), "STATEMENT_INVALID");
  EXPECT_EQ(value_refusal(R"({"$rindle":"i64","value":1})"), "STATEMENT_INVALID");
  EXPECT_EQ(value_refusal(R"({"$rindle":"i64","value":"1","more":1})"), "STATEMENT_INVALID");
  EXPECT_EQ(value_refusal("1e999"), "JSON_INVALID");
}

std::string repeated(const std::string& item, std::size_t count) {
  std::string list = "[";
  for (std::size_t i = 0; i < count; ++i) list += (i > 0 ? "," : "") + item;
  return list + "]";
}

TEST(Limits, SqlBytesMax) {
  const auto of = [](std::size_t bytes) {
    return code(parse_execute(R"({"statement":{"sql":")" + std::string(bytes, 'x') + "\"}}", false));
  };
  EXPECT_EQ(of(sql_bytes_max), "accepted");
  EXPECT_EQ(of(sql_bytes_max + 1), "LIMIT_EXCEEDED");
}

TEST(Limits, BoundValuesMax) {
  const auto count = static_cast<std::size_t>(bound_values_max);
  EXPECT_EQ(code(parse_execute(with_arguments(repeated("1", count)), false)), "accepted");
  EXPECT_EQ(code(parse_execute(with_arguments(repeated("1", count + 1)), false)), "LIMIT_EXCEEDED");
  std::string names = "{";
  for (std::size_t i = 0; i <= count; ++i) names += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":1";
  EXPECT_EQ(code(parse_execute(with_arguments(names + "}"), false)), "LIMIT_EXCEEDED");
}

TEST(Limits, StatementsMax) {
  const auto batch = [](std::size_t count) {
    return code(parse_batch(R"({"statements":)" + repeated(R"({"sql":"x"})", count) + "}", false));
  };
  EXPECT_EQ(batch(statements_max), "accepted");
  EXPECT_EQ(batch(statements_max + 1), "LIMIT_EXCEEDED");
  const auto migration = [](std::size_t count) {
    return code(parse_control_migrations(R"({"id":"m","statements":)" + repeated("\"x\"", count) + "}"));
  };
  EXPECT_EQ(migration(statements_max), "accepted");
  EXPECT_EQ(migration(statements_max + 1), "LIMIT_EXCEEDED");
}

TEST(BatchRequest, NeedsStatements) {
  EXPECT_EQ(refusal(parse_batch("{}", false)), "STATEMENT_INVALID: request missing statements");
  EXPECT_EQ(refusal(parse_batch(R"({"statements":{}})", false)), "STATEMENT_INVALID: request missing statements");
  EXPECT_EQ(refusal(parse_batch(R"({"statements":[]})", false)),
            "STATEMENT_INVALID: batch must contain at least one statement");
  EXPECT_EQ(parse_batch(R"({"statements":[{"sql":"a"},{"sql":"b"}]})", false).value().statements.size(), 2u);
}

TEST(PublicMigration, NeedsIdChecksumAndStatements) {
  const auto of = [](const char* body) { return refusal(parse_public_migration(body)); };
  const std::string needs = "STATEMENT_INVALID: migration requires non-empty id, checksum, and statements";
  const std::string array = "STATEMENT_INVALID: migration statements must be a non-empty string array";
  EXPECT_EQ(of(R"({"checksum":"c","statements":["x"]})"), needs);
  EXPECT_EQ(of(R"({"id":"","checksum":"c","statements":["x"]})"), needs);
  EXPECT_EQ(of(R"({"id":"a","statements":["x"]})"), needs);
  EXPECT_EQ(of(R"({"id":"a","checksum":"","statements":["x"]})"), needs);
  EXPECT_EQ(of(R"({"id":"a","checksum":"c"})"), array);
  EXPECT_EQ(of(R"({"id":"a","checksum":"c","statements":[]})"), array);
  EXPECT_EQ(of(R"({"id":"a","checksum":"c","statements":[1]})"), array);
  EXPECT_EQ(of(R"({"id":1,"checksum":"c","statements":["x"]})"), "STATEMENT_INVALID: id must be a string");
  EXPECT_EQ(of("[]"), "JSON_INVALID: invalid JSON body");
}

TEST(ControlMigrations, AreOneOrAList) {
  EXPECT_FALSE(parse_control_migrations(R"({"id":"a","statements":["x"],"overrideHash":null})").value().is_array);
  const auto list = parse_control_migrations("[]").value();
  EXPECT_TRUE(list.is_array);
  EXPECT_TRUE(list.migrations.empty());
  EXPECT_EQ(code(parse_control_migrations("1")), "STATEMENT_INVALID");
  EXPECT_EQ(code(parse_control_migrations("[1]")), "STATEMENT_INVALID");
  EXPECT_EQ(code(parse_control_migrations(R"([{"statements":["x"]}])")), "STATEMENT_INVALID");
  EXPECT_EQ(code(parse_control_migrations(R"({"id":"a","statements":["x"],"overrideHash":1})")), "STATEMENT_INVALID");
}

std::string transaction(const std::string& fields) {
  return R"({"statements":[{"sql":"x","params":[1,1.5,true,null,"t"]}])" + fields + "}";
}

TEST(ControlTransaction, NumbersWithoutAFractionAreIntegers) {
  const auto parsed = parse_control_transaction(transaction("")).value();
  EXPECT_EQ(parsed.statements[0].positional, (Row{std::int64_t{1}, 1.5, std::int64_t{1}, Null{}, Text{"t"}}));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(parsed.identity));
  EXPECT_EQ(code(parse_control_transaction(R"({"statements":[{"sql":"x","params":[[1]]}]})")), "VALUE_UNSUPPORTED");
  EXPECT_EQ(code(parse_control_transaction(R"({"statements":1})")), "STATEMENT_INVALID");
}

TEST(ControlTransaction, HasOneIdentityAtMost) {
  const auto of = [](const std::string& fields) { return code(parse_control_transaction(transaction(fields))); };
  EXPECT_EQ(of(R"(,"producer":{"id":"p","seq":1})"), "accepted");
  EXPECT_EQ(of(R"(,"clientID":"c","mid":1)"), "accepted");
  EXPECT_EQ(of(R"(,"idempotencyKey":"k")"), "accepted");
  EXPECT_EQ(of(R"(,"producer":null,"clientID":null,"mid":null,"idempotencyKey":null)"), "accepted");
  EXPECT_EQ(of(R"(,"producer":{"id":"p","seq":1},"clientID":"c","mid":1)"), "STATEMENT_INVALID");
  EXPECT_EQ(of(R"(,"producer":{"id":"p","seq":1},"clientID":"c")"), "STATEMENT_INVALID");
  EXPECT_EQ(of(R"(,"producer":{"id":"p","seq":1},"mid":1)"), "STATEMENT_INVALID");
  EXPECT_EQ(of(R"(,"producer":{"id":"p","seq":1},"idempotencyKey":"k")"), "STATEMENT_INVALID");
  EXPECT_EQ(of(R"(,"clientID":"c","mid":1,"idempotencyKey":"k")"), "STATEMENT_INVALID");
  EXPECT_EQ(of(R"(,"clientID":"c")"), "STATEMENT_INVALID");
  EXPECT_EQ(of(R"(,"mid":1)"), "STATEMENT_INVALID");
}

TEST(ControlTransaction, IdsAndNumbersHaveTheirBounds) {
  const auto producer = [](const std::string& id, const std::string& seq) {
    return code(parse_control_transaction(transaction(R"(,"producer":{"id":)" + id + R"(,"seq":)" + seq + "}")));
  };
  EXPECT_EQ(producer('"' + std::string(identity_bytes_max, 'p') + '"', "9007199254740991"), "accepted");
  EXPECT_EQ(producer("\"p\"", "1.0"), "accepted");
  for (const char* id : {"\"\"", "1", "null"}) EXPECT_EQ(producer(id, "1"), "STATEMENT_INVALID") << id;
  EXPECT_EQ(producer('"' + std::string(identity_bytes_max + 1, 'p') + '"', "1"), "STATEMENT_INVALID");
  for (const char* seq :
       {"0", "-1", "1.5", "9007199254740992", "1e300", "\"1\"", "null", "true", "18446744073709551615", "-1e300"}) {
    EXPECT_EQ(producer("\"p\"", seq), "STATEMENT_INVALID") << seq;
  }
  EXPECT_EQ(code(parse_control_transaction(transaction(R"(,"producer":1)"))), "STATEMENT_INVALID");
  EXPECT_EQ(code(parse_control_transaction(transaction(R"(,"clientID":"c","mid":0)"))), "STATEMENT_INVALID");
  EXPECT_EQ(code(parse_control_transaction(
                transaction(R"(,"idempotencyKey":")" + std::string(identity_bytes_max + 1, 'k') + '"'))),
            "STATEMENT_INVALID");
}

TEST(Rejection, NamesItsMutation) {
  EXPECT_EQ(parse_rejection(R"({"clientID":"c","mid":2,"reason":"no"})").value().mutation.mid, Mid{2});
  EXPECT_EQ(code(parse_rejection(R"({"clientID":"c"})")), "STATEMENT_INVALID");
  EXPECT_EQ(code(parse_rejection(R"({"clientID":"c","mid":2,"reason":1})")), "STATEMENT_INVALID");
}

TEST(ControlRead, TakesParams) {
  EXPECT_EQ(parse_control_read(R"({"sql":"select ?","params":[7]})").value().positional, (Row{std::int64_t{7}}));
  EXPECT_EQ(code(parse_control_read("{}")), "STATEMENT_INVALID");
  EXPECT_EQ(code(parse_control_read("[]")), "JSON_INVALID");
}

}  // namespace
}  // namespace leat::wire
