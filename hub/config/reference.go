package config

import (
	"fmt"
	"log/slog"
	"strings"
)

// Reference is the page that explains every setting, in Markdown.
func Reference() string {
	var b strings.Builder
	b.WriteString("# Configuration\n\n")
	b.WriteString("Every setting can be given as a flag, an environment variable or a key of the YAML file named by `--config` (or `HUB_CONFIG`). ")
	b.WriteString("A flag wins over the environment, the environment over the file, the file over the default. ")
	b.WriteString("Durations are written like `10s`, `30m`, `12h` or `30d`. ")
	b.WriteString("An unknown key of the file is an error, an unknown `HUB_` variable a warning. ")
	b.WriteString("Secrets have no flag, because a process list shows flags to everybody on the machine.\n\n")
	b.WriteString("This page is made from hub/config by `go generate ./hub/config`; do not edit it.\n")
	group := ""
	for _, one := range Settings() {
		if one.Group != group {
			group = one.Group
			fmt.Fprintf(&b, "\n## %s\n", group)
		}
		fmt.Fprintf(&b, "\n### %s\n\n%s\n\n", one.Env, one.Doc)
		fmt.Fprintf(&b, "| | |\n|---|---|\n")
		if one.Flag != "" {
			fmt.Fprintf(&b, "| flag | `--%s` |\n", one.Flag)
		}
		fmt.Fprintf(&b, "| file | `%s:` |\n| value | %s%s |\n| default | %s |\n| example | `%s` |\n",
			one.Name, one.Unit, one.bounds(), one.shownDefault(), one.Example)
	}
	return b.String()
}

// Example is a YAML file with every setting explained and commented out.
func Example() string {
	var b strings.Builder
	b.WriteString("# Settings of the hub, every one of them. Give this file with --config or HUB_CONFIG.\n")
	b.WriteString("# A flag or an environment variable wins over what stands here. What is commented\n")
	b.WriteString("# out has the default shown, or is an example where there is no default.\n")
	b.WriteString("# Made from hub/config by `go generate ./hub/config`; copy it before you edit.\n")
	group := ""
	for _, one := range Settings() {
		if one.Group != group {
			group = one.Group
			fmt.Fprintf(&b, "\n# --- %s ---\n", group)
		}
		fmt.Fprintf(&b, "\n%s", wrap(one.Doc, "# ", 80))
		fmt.Fprintf(&b, "# %s%s; default: %s\n", one.Unit, one.bounds(), strings.Trim(one.shownDefault(), "`"))
		value := one.Default
		if value == "" {
			value = one.Example
		}
		fmt.Fprintf(&b, "# %s: %q\n", one.Name, value)
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

// Print writes every setting as a line "name: value" that the file could hold;
// secrets are redacted.
func (c Config) Print() string {
	var b strings.Builder
	for _, one := range Settings() {
		fmt.Fprintf(&b, "%s: %q\n", one.Name, one.get(c))
	}
	return b.String()
}

// Values gives every setting as text by its name; secrets are redacted.
func (c Config) Values() map[string]string {
	values := make(map[string]string)
	for _, one := range Settings() {
		values[one.Name] = one.get(c)
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
	for _, one := range settings {
		attrs = append(attrs, slog.String(one.Name, one.get(c)))
	}
	return slog.GroupValue(attrs...)
}
