// SPDX-License-Identifier: MIT
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "master/embedded/modules/binding.h"
#include "rest_fcgi/lowstate/master_arguments.h"

namespace rest_fcgi::embedded {
namespace {

/// One argument on its way. A derived one has its value only after all of them were parsed in one go.
struct Item {
  std::optional<std::string_view> keyword;
  JsonValue value;
  bool derived = false;
};

/// Collects arguments in the order in which they count.
class Sorter {
 public:
  Sorter(const LoadedFunction& function, const JobContext& job) : function_(function), job_(job) {}

  void add(const JsonValue& arg);
  void add_keyword(const JsonMember& member) { items_.push_back({member.key, member.value, false}); }
  std::variant<Arguments, Raised> sort();

 private:
  bool accepts(std::string_view keyword) const;
  void derive(std::string_view keyword, const Json& value);
  void derive_publication();
  void parse_derived(Arguments& arguments);

  const LoadedFunction& function_;
  const JobContext& job_;
  std::vector<Item> items_;
  std::string derived_text_;  // the elements of a JSON array, in the order of the derived items
};

void Sorter::add(const JsonValue& arg) {
  if (arg.is(JsonValue::Kind::string)) {
    if (const auto keyword = lowstate::split_keyword(arg.text())) {
      derive(keyword->first, lowstate::yamlify_scalar(keyword->second));
      return;
    }
  }
  items_.push_back({std::nullopt, arg, false});
}

bool Sorter::accepts(std::string_view keyword) const {
  const auto parameters = function_.parameters();
  return function_.function().takes_keywords ||
         std::any_of(parameters.begin(), parameters.end(),
                     [keyword](const Parameter& parameter) { return parameter.name == keyword; });
}

void Sorter::derive(std::string_view keyword, const Json& value) {
  items_.push_back({keyword, {}, true});
  if (!derived_text_.empty()) derived_text_ += ',';
  derived_text_ += value.text();
}

/// What Salt tells functions with `**kwargs` about the job that they are part of.
void Sorter::derive_publication() {
  derive("__pub_fun", Json::string(job_.fun));
  derive("__pub_arg", Json::trusted(std::string(job_.arg_json)));
  derive("__pub_tgt", Json::trusted(std::string(job_.tgt_json)));
  derive("__pub_jid", Json::string(job_.jid));
  derive("__pub_ret", Json::string(job_.ret));
  derive("__pub_tgt_type", Json::string(job_.tgt_type));
  derive("__pub_user", Json::string(job_.user));
}

void Sorter::parse_derived(Arguments& arguments) {
  if (derived_text_.empty()) return;
  arguments.derived = std::make_unique<JsonDocument>();
  if (!arguments.derived->parse("[" + derived_text_ + "]", JsonLimits::none())) return;
  auto item = items_.begin();
  for (const JsonValue value : arguments.derived->root().elements()) {
    item = std::find_if(item, items_.end(), [](const Item& candidate) { return candidate.derived; });
    item->value = value;
    item->derived = false;
  }
}

/// Keyword arguments in the making: one that came before keeps its place and gets the new value, as in a
/// Python dictionary.
class Keywords {
 public:
  void set(std::string_view name, const JsonValue& value) {
    const auto [place, is_new] = places_.try_emplace(name, members_.size());
    if (is_new) {
      members_.push_back({name, value});
    } else {
      members_[place->second].value = value;
    }
  }
  [[nodiscard]] std::vector<JsonMember> take() { return std::move(members_); }

 private:
  std::vector<JsonMember> members_;
  std::map<std::string_view, std::size_t> places_;  // no hash table: callers choose the keys
};

std::variant<Arguments, Raised> Sorter::sort() {
  if (function_.function().takes_keywords) derive_publication();
  Arguments arguments;
  parse_derived(arguments);
  Keywords keywords;
  std::string invalid;
  for (const Item& item : items_) {
    if (!item.keyword) {
      arguments.positional.push_back(item.value);
    } else if (accepts(*item.keyword)) {
      keywords.set(*item.keyword, item.value);
    } else {
      invalid.append(invalid.empty() ? "" : ", ").append(*item.keyword) += '=' + item.value.python_str();
    }
  }
  arguments.keywords = keywords.take();
  if (invalid.empty()) return arguments;
  return Raised{Raised::Kind::invocation, "salt.exceptions.SaltInvocationError",
                "The following keyword arguments are not valid: " + invalid};
}

}  // namespace

std::variant<Arguments, Raised> sort_arguments(const LoadedFunction& function,
                                               std::span<const JsonValue> args,
                                               std::span<const JsonMember> kwargs, const JobContext& job) {
  Sorter sorter(function, job);
  for (const JsonValue& arg : args) sorter.add(arg);
  for (const JsonMember& member : kwargs) sorter.add_keyword(member);
  return sorter.sort();
}

}  // namespace rest_fcgi::embedded
