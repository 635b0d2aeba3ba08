// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <yaml-cpp/eventhandler.h>

#include "config/tree.h"

namespace rest_fcgi::config {

/// Makes a tree of the events of yaml-cpp's parser. yaml-cpp's own tree would not do: it accepts a key twice,
/// shares what aliases name, and knows nothing of `<<`. Mistakes are thrown as YAML::ParserException. Not
/// synchronized.
class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(const std::string& file) : file_(std::make_shared<const std::string>(file)) {}

  /// The document; null where there was none.
  [[nodiscard]] Node take_root() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override;
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override;
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override;
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override;
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override;
  void OnSequenceEnd() override;
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override;
  void OnMapEnd() override;

 private:
  /// A list or map whose end has not been seen.
  struct Open {
    Node node;
    YAML::anchor_t anchor;
    bool expects_value = false;  ///< of a map: its last entry has a key only
  };

  [[nodiscard]] Place place(const YAML::Mark& mark) const;
  void add(const YAML::Mark& mark, Node node, YAML::anchor_t anchor, bool plain);
  void add_to_map(const YAML::Mark& mark, Open& map, Node node, bool plain);
  void close();

  std::shared_ptr<const std::string> file_;
  Node root_;
  bool has_root_ = false;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Node> anchored_;  ///< what aliases name: complete values only
  std::size_t copied_ = 0;                   ///< nodes that aliases added
};

}  // namespace rest_fcgi::config
