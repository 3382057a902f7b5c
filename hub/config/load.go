package config

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"integrationhub/hub/spelling"
)

// Sources are the sources of settings. Flags win over the environment, the
// environment over the file, the file over the defaults.
type Sources struct {
	Flags   map[string]string // flag → value of the flags on the command line: "public-url" → "https://…"
	Environ []string          // as os.Environ returns it; empty values are ignored
	File    string            // path of a YAML file; "" = HUB_CONFIG of Environ, or none
}

// configVariable names the file in the environment; its flag is --config.
const configVariable = envPrefix + "CONFIG"

// foreign are variables with the hub's prefix that are no settings: client commands read
// them.
var foreign = []string{"HUB_URL", "HUB_TOKEN", "HUB_KEY", "HUB_WEBHOOK_SECRET"}

// Load returns the Config of its sources. The error lists every unreadable value and
// every unknown key of the file; the warnings list unknown variables with the prefix
// HUB_. [Config.Validate] checks the values.
func Load(from Sources) (c Config, warnings []string, err error) {
	settings := Settings()
	loader := loader{config: &c}
	for _, setting := range settings {
		loader.apply(setting, "default", setting.Default)
	}
	environ := loader.environ(settings, from.Environ)
	path := from.File
	if path == "" {
		path = environ[configVariable]
	}
	file := loader.file(settings, path)
	for _, setting := range settings {
		if text, isSet := file[setting.Name]; isSet {
			loader.apply(setting, path+": "+setting.Name, text)
		}
		if text := environ[setting.Env]; text != "" {
			loader.apply(setting, setting.Env, text)
		}
	}
	loader.flags(settings, from.Flags)
	return c, loader.warnings, errors.Join(loader.problems...)
}

// loader collects all problems, so that one start reports them all.
type loader struct {
	config   *Config
	problems []error
	warnings []string
}

func (l *loader) apply(setting Setting, source, text string) {
	if text == "" {
		return
	}
	if err := setting.set(l.config, text); err != nil {
		l.problems = append(l.problems, fmt.Errorf("%s: %w", source, err))
	}
}

func (l *loader) flags(settings []Setting, values map[string]string) {
	for _, setting := range settings {
		text, set := values[setting.Flag]
		if !set || setting.Flag == "" {
			continue
		}
		if setting.Secret && Secret(text).hasPassword() {
			l.problems = append(l.problems, fmt.Errorf("--%s: a password in a flag can be read by all users of this machine; use %s or the file", setting.Flag, setting.Env))
			continue
		}
		if text == "" { // an empty flag takes a setting back to empty
			text = setting.Default
		}
		l.apply(setting, "--"+setting.Flag, text)
	}
}

func (l *loader) environ(settings []Setting, environ []string) map[string]string {
	values := make(map[string]string)
	names := []string{configVariable}
	for _, setting := range settings {
		names = append(names, setting.Env)
	}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, envPrefix) {
			continue
		}
		values[name] = value
		if !slices.Contains(names, name) && !slices.Contains(foreign, name) {
			l.warnings = append(l.warnings, fmt.Sprintf("unknown variable %s is ignored%s", name, suggestion(name, names)))
		}
	}
	return values
}

// file reads the YAML file into texts, as the other sources have them.
func (l *loader) file(settings []Setting, path string) map[string]string {
	if path == "" {
		return nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		l.problems = append(l.problems, fmt.Errorf("reading the configuration file: %w", err))
		return nil
	}
	var tree map[string]yaml.Node
	if err := yaml.Unmarshal(raw, &tree); err != nil {
		l.problems = append(l.problems, fmt.Errorf("reading %s: %w", path, err))
		return nil
	}
	names := make([]string, len(settings))
	for i, setting := range settings {
		names[i] = setting.Name
	}
	texts := make(map[string]string)
	for key, node := range tree {
		if !slices.Contains(names, key) {
			l.problems = append(l.problems, fmt.Errorf("%s: line %d: unknown key %s%s", path, node.Line, key, suggestion(key, names)))
			continue
		}
		text, ok := textOf(node)
		if !ok {
			l.problems = append(l.problems, fmt.Errorf("%s: line %d: %s must be one value or a list of values", path, node.Line, key))
			continue
		}
		texts[key] = text
	}
	slices.SortFunc(l.problems, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return texts
}

// textOf returns a scalar as written in the file, or a list joined with commas.
func textOf(node yaml.Node) (string, bool) {
	switch node.Kind {
	case yaml.ScalarNode:
		if node.Tag == "!!null" {
			return "", true
		}
		return node.Value, true
	case yaml.SequenceNode:
		parts := make([]string, 0, len(node.Content))
		for _, item := range node.Content {
			if item.Kind != yaml.ScalarNode {
				return "", false
			}
			parts = append(parts, item.Value)
		}
		return strings.Join(parts, ","), true
	}
	return "", false
}

// suggestion returns a hint with the known name nearest to an unknown name, or "".
func suggestion(unknown string, known []string) string {
	best, least := "", len(unknown)/2+1
	for _, name := range known {
		if d := spelling.Distance(strings.ToLower(unknown), strings.ToLower(name)); d < least {
			best, least = name, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}
