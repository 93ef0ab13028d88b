# How Leat's targets are made: one library a folder, unit tests beside the code (`*_test.cpp`), and each library sees only
# the folders it may depend on.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g -D_GLIBCXX_ASSERTIONS")

find_program(LEAT_CCACHE ccache)
if(LEAT_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${LEAT_CCACHE}")
endif()
find_program(LEAT_MOLD mold)
if(LEAT_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

add_compile_options(-Wall -Wextra -Wconversion -Wshadow -Werror -fno-omit-frame-pointer)
# Boost 1.81 under GCC 12 -O2: false positives inside the library's own headers.
add_compile_options(-Wno-error=maybe-uninitialized)
if(LEAT_SANITIZE)
  add_compile_options(-fsanitize=${LEAT_SANITIZE})
  add_link_options(-fsanitize=${LEAT_SANITIZE})
  if(LEAT_SANITIZE MATCHES "thread")
    # The thread sanitizer does not understand fences; Asio can do without.
    add_compile_options(-Wno-error=tsan)
    add_compile_definitions(BOOST_ASIO_DISABLE_FENCED_BLOCK)
  endif()
endif()

include(GoogleTest)

# The folder's headers are included as "<folder>/file.h". Every library gets an include tree of its own, holding nothing
# but a link to its folder, so that a target sees exactly the folders of the libraries it links.
function(leat_include_tree target folder)
  set(tree "${CMAKE_BINARY_DIR}/include/${folder}")
  get_filename_component(parent "${tree}/${folder}" DIRECTORY)
  file(MAKE_DIRECTORY "${parent}")
  file(CREATE_LINK "${CMAKE_SOURCE_DIR}/${folder}" "${tree}/${folder}" SYMBOLIC)
  target_include_directories(${target} PUBLIC "${tree}")
endfunction()

# leat_library(name FOLDER folder [SOURCES ...] LINK ... [PRIVATE_LINK ...]): the folder's own *.cpp without its tests.
function(leat_library name)
  cmake_parse_arguments(arg "" "FOLDER" "LINK;PRIVATE_LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/${arg_FOLDER}/*.cpp")
  list(FILTER sources EXCLUDE REGEX "(_test|_main|/main)\\.cpp$")
  add_library(${name} STATIC ${sources})
  leat_include_tree(${name} ${arg_FOLDER})
  target_link_libraries(${name} PUBLIC ${arg_LINK} PRIVATE ${arg_PRIVATE_LINK})
endfunction()

# leat_unit_tests(name FOLDER folder LINK ...): one program of all the folder's *_test.cpp, registered case by case.
function(leat_unit_tests name)
  cmake_parse_arguments(arg "" "FOLDER" "LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/${arg_FOLDER}/*_test.cpp")
  if(sources)
    add_executable(${name} ${sources})
    target_link_libraries(${name} PRIVATE ${arg_LINK} GTest::gtest GTest::gtest_main)
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300)
  endif()
endfunction()
