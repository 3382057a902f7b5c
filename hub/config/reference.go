package config

import (
	"fmt"
	"log/slog"
	"strings"
)

// Reference returns the reference of every setting, in Markdown.
func Reference() string {
	var b strings.Builder
	b.WriteString("# Configuration\n\n")
	b.WriteString("Every setting can be given as a flag, an environment variable or a key of the YAML file named by `--config` (or `HUB_CONFIG`). ")
	b.WriteString("A flag wins over the environment, the environment over the file, the file over the default. ")
	b.WriteString("Durations are written like `10s`, `30m`, `12h` or `30d`. ")
	b.WriteString("An unknown key of the file is an error, an unknown `HUB_` variable a warning. ")
	b.WriteString("Secrets have no flag, because a process list shows flags to all users of the machine.\n\n")
	b.WriteString("This page is made from hub/config by `go generate ./hub/config`; do not edit it.\n")
	group := ""
	for _, setting := range Settings() {
		if setting.Group != group {
			group = setting.Group
			fmt.Fprintf(&b, "\n## %s\n", group)
		}
		fmt.Fprintf(&b, "\n### %s\n\n%s\n\n", setting.Env, setting.Doc)
		fmt.Fprintf(&b, "| | |\n|---|---|\n")
		if setting.Flag != "" {
			fmt.Fprintf(&b, "| flag | `--%s` |\n", setting.Flag)
		}
		fmt.Fprintf(&b, "| file | `%s:` |\n| value | %s%s |\n| default | %s |\n| example | `%s` |\n",
			setting.Name, setting.Unit, setting.bounds(), setting.shownDefault(), setting.Example)
	}
	return b.String()
}

// Example returns a YAML file with every setting documented and commented out.
func Example() string {
	var b strings.Builder
	b.WriteString("# Settings of the hub, every one of them. Give this file with --config or HUB_CONFIG.\n")
	b.WriteString("# A flag or an environment variable wins over what stands here. What is commented\n")
	b.WriteString("# out has the default shown, or is an example where there is no default.\n")
	b.WriteString("# Made from hub/config by `go generate ./hub/config`; copy it before you edit.\n")
	group := ""
	for _, setting := range Settings() {
		if setting.Group != group {
			group = setting.Group
			fmt.Fprintf(&b, "\n# --- %s ---\n", group)
		}
		fmt.Fprintf(&b, "\n%s", wrap(setting.Doc, "# ", 80))
		fmt.Fprintf(&b, "# %s%s; default: %s\n", setting.Unit, setting.bounds(), strings.Trim(setting.shownDefault(), "`"))
		value := setting.Default
		if value == "" {
			value = setting.Example
		}
		fmt.Fprintf(&b, "# %s: %q\n", setting.Name, value)
	}
	return b.String()
}

func (s Setting) bounds() string {
	if s.min == "" {
		return ""
	}
	return fmt.Sprintf(", %s to %s", s.min, s.max)
}

func (s Setting) shownDefault() string {
	if s.Default == "" {
		return "empty"
	}
	return "`" + s.Default + "`"
}

// wrap breaks text into lines of at most width characters that begin with prefix.
func wrap(text, prefix string, width int) string {
	var b strings.Builder
	line := prefix
	for word := range strings.FieldsSeq(text) {
		if line != prefix && len(line)+1+len(word) > width {
			b.WriteString(line + "\n")
			line = prefix
		}
		if line != prefix {
			line += " "
		}
		line += word
	}
	b.WriteString(line + "\n")
	return b.String()
}

// Print returns every setting as a line "name: value" of a YAML file; secrets are
// redacted.
func (c Config) Print() string {
	var b strings.Builder
	for _, setting := range Settings() {
		fmt.Fprintf(&b, "%s: %q\n", setting.Name, setting.get(c))
	}
	return b.String()
}

// Values returns every setting as text by its name; secrets are redacted.
func (c Config) Values() map[string]string {
	values := make(map[string]string)
	for _, setting := range Settings() {
		values[setting.Name] = setting.get(c)
	}
	return values
}

// String implements fmt.Stringer, with secrets redacted.
func (c Config) String() string { return c.Print() }

// GoString implements fmt.GoStringer, with secrets redacted.
func (c Config) GoString() string { return c.Print() }

// LogValue implements slog.LogValuer, with secrets redacted.
func (c Config) LogValue() slog.Value {
	settings := Settings()
	attrs := make([]slog.Attr, 0, len(settings))
	for _, setting := range settings {
		attrs = append(attrs, slog.String(setting.Name, setting.get(c)))
	}
	return slog.GroupValue(attrs...)
}
