// SPDX-License-Identifier: MIT
// What most files include, and what takes longest to parse: the build precompiles it and puts it in front of
// what it compiles without optimizing. No file counts on that: each includes what it uses.
#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>
