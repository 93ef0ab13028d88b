#include "sqlclient/cli/server_address.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/temporary_folder.h"

namespace leat::cli {
namespace {

TEST(ServerAddress, IsTheDefaultWhenNothingIsGiven) {
  const auto address = resolve({});
  ASSERT_TRUE(address.has_value()) << address.error().message;
  EXPECT_EQ(address->url.host, "127.0.0.1");
  EXPECT_EQ(address->url.port, 7600);
  EXPECT_EQ(address->url.path, "/");
  EXPECT_EQ(address->headers().size(), 1u);
}

TEST(ServerAddress, ComesFromTheFolderOfLeatUp) {
  const testing::TemporaryFolder folder;
  ASSERT_TRUE(write_server_file(folder.path(), "http://127.0.0.1:1234", "secret").has_value());
  const auto address = resolve({"", "", folder.path()});
  ASSERT_TRUE(address.has_value()) << address.error().message;
  EXPECT_EQ(address->url.port, 1234);
  EXPECT_EQ(address->token, "secret");
  EXPECT_EQ(resolve({"http://127.0.0.1:99", "", folder.path()})->url.port, 99) << "a URL on the command line wins";
}

TEST(ServerAddress, FileWithATokenIsReadableByItsOwnerOnly) {
  const testing::TemporaryFolder folder;
  ASSERT_TRUE(write_server_file(folder.path(), "http://127.0.0.1:1234", "secret").has_value());
  struct stat file {};
  ASSERT_EQ(::stat((folder / "leat.json").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u);
}

TEST(ServerAddress, OfAFolderThatIsNotServedIsAnErrorThatNamesIt) {
  const auto address = resolve({"", "", "/nowhere"});
  ASSERT_TRUE(address.has_error());
  EXPECT_NE(address.error().message.find("/nowhere"), std::string::npos);
}

TEST(ServerAddress, WithoutHttpIsRefused) {
  for (const char* url : {"nonsense", "ftp://host:1", "ws://host:1"}) {
    EXPECT_TRUE(resolve({url, "", ""}).has_error()) << url;
  }
}

TEST(ServerAddress, HasItsWebSocketOnTheSamePort) {
  EXPECT_EQ(resolve({"http://h:5", "", ""})->web_socket().scheme, "ws");
  EXPECT_EQ(resolve({"https://h:5", "", ""})->web_socket().scheme, "wss");
}

}  // namespace
}  // namespace leat::cli
