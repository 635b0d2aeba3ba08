// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <random>

#include "master/embedded/modules/test_module.h"
#include "master/embedded/python/python.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded::test_module {
namespace {

/// A natural number of any size. Value type.
class BigNumber {
 public:
  explicit BigNumber(std::uint64_t small) : limbs_{small} {}

  void add(const BigNumber& other) {
    limbs_.resize(std::max(limbs_.size(), other.limbs_.size()));
    std::uint64_t carry = 0;
    for (std::size_t i = 0; i < limbs_.size(); ++i) {
      limbs_[i] += carry + (i < other.limbs_.size() ? other.limbs_[i] : 0);
      carry = limbs_[i] / kBase;
      limbs_[i] %= kBase;
    }
    if (carry != 0) limbs_.push_back(carry);
  }

  [[nodiscard]] std::string digits() const {
    std::string out = std::to_string(limbs_.back());
    for (std::size_t i = limbs_.size() - 1; i-- > 0;) out += format("{:018}", limbs_[i]);
    return out;
  }

  /// No fewer than the number has.
  [[nodiscard]] std::size_t digit_bound() const { return limbs_.size() * kDigits; }

 private:
  static constexpr std::uint64_t kBase = 1'000'000'000'000'000'000;
  static constexpr std::size_t kDigits = 18;
  std::vector<std::uint64_t> limbs_;  // lowest first
};

/// `[value, seconds since begin]`.
Reply timed(std::string_view value, std::chrono::steady_clock::time_point begin) {
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::string text;
  JsonWriter writer(text);
  writer.begin_array().raw(value).number(took.count()).end_array();
  return Returned{Json::trusted(std::move(text))};
}

/// How many hexadecimal digits a hash of Python's hashlib has; 0 for one that it does not know.
std::size_t hex_digits(std::string_view hash_type) {
  struct Hash {
    std::string_view name;
    std::size_t digits;
  };
  constexpr std::array hashes = {Hash{"md5", 32},      Hash{"sha1", 40},     Hash{"sha224", 56},
                                 Hash{"sha256", 64},   Hash{"sha384", 96},   Hash{"sha512", 128},
                                 Hash{"blake2b", 128}, Hash{"blake2s", 64},  Hash{"sha3_224", 56},
                                 Hash{"sha3_256", 64}, Hash{"sha3_384", 96}, Hash{"sha3_512", 128}};
  const auto found = std::find_if(hashes.begin(), hashes.end(),
                                  [hash_type](const Hash& hash) { return hash.name == hash_type; });
  return found == hashes.end() ? 0 : found->digits;
}

}  // namespace

Reply fib(const Call& call) {
  constexpr std::size_t max_digits = 4300;  // what Python writes out, and so what Salt can return
  const WholeNumber number = python_int(call.arguments[0]);
  if (const auto* raised = std::get_if<Raised>(&number)) return *raised;
  const std::int64_t place = std::get<std::int64_t>(number);
  if (place < 0) return Raised::value_error("Negative number is not allowed!");
  const auto begin = std::chrono::steady_clock::now();
  BigNumber current(0);
  BigNumber next(1);
  for (std::int64_t i = 0; i < place && current.digit_bound() < max_digits + 36; ++i) {
    current.add(next);
    std::swap(current, next);
  }
  const std::string digits = current.digits();
  if (digits.size() > max_digits) {
    return Raised::value_error("Exceeds the limit (4300 digits) for integer string conversion");
  }
  return timed(digits, begin);
}

Reply collatz(const Call& call) {
  constexpr std::int64_t largest =
      3'074'457'345'618'258'602;     // three times as much and one still fit 64 bits
  constexpr int max_steps = 10'000;  // far more than any start needs, should rounding ever make a circle
  const WholeNumber number = python_int(call.arguments[0]);
  if (const auto* raised = std::get_if<Raised>(&number)) return *raised;
  std::int64_t start = std::get<std::int64_t>(number);
  if (start < 1 || start > largest) {
    return Raised::value_error(format("start must be from 1 to {}, not {}", largest, start));
  }
  const auto begin = std::chrono::steady_clock::now();
  std::string steps;
  JsonWriter writer(steps);
  writer.begin_array();
  // Python's `/` makes a float, so that only what comes before the first halving is an integer.
  while (start != 1 && start % 2 != 0) {
    writer.integer(start);
    start = start * 3 + 1;
  }
  if (start != 1) writer.integer(start);
  double value = start == 1 ? 1.0 : static_cast<double>(start) / 2;
  for (int step = 0; value != 1.0 && step < max_steps; ++step) {
    writer.number(value);
    value = std::fmod(value, 2.0) == 0.0 ? value / 2 : value * 3 + 1;
  }
  writer.end_array();
  return timed(steps, begin);
}

Reply random_hash(const Call& call) {
  const JsonValue& type = call.arguments[1];
  if (python_bool(type) && !type.is(JsonValue::Kind::string)) {
    return Raised::type_error(format("attribute name must be string, not '{}'", type.type_name()));
  }
  const std::size_t digits = hex_digits(python_bool(type) ? type.text() : "sha256");
  if (digits == 0) {
    return Raised{Raised::Kind::exception, "AttributeError",
                  format("module 'hashlib' has no attribute '{}'", type.text())};
  }
  const WholeNumber size = python_randint_bound(call.arguments[0]);
  if (const auto* raised = std::get_if<Raised>(&size)) return *raised;
  std::random_device source;
  std::uniform_int_distribution<unsigned> digit(0, 15);
  std::string text(digits, '0');
  std::generate(text.begin(), text.end(), [&] { return "0123456789abcdef"[digit(source)]; });
  return Returned{Json::string(text)};
}

}  // namespace rest_fcgi::embedded::test_module
