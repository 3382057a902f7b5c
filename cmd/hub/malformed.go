package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// groupsWithIDs are the groups of commands whose argument ID is a UUID.
var groupsWithIDs = []string{"alerts", "deliveries", "endpoints", "integrations", "keys", "replay", "tokens"}

// flagsWithIDs are the flags that hold a UUID, with the command that lists them.
var flagsWithIDs = map[string]string{"endpoint": "hub endpoints list", "integration": "hub integrations list"}

// choicesKey is the annotation of a flag that has the values it takes.
const choicesKey = "choices"

// choices restricts a flag to some values, and offers them to the shell.
func choices(cmd *cobra.Command, flag string, values ...string) {
	complete(cmd, flag, values...)
	_ = cmd.Flags().SetAnnotation(flag, choicesKey, values)
}

// refuseMalformed is a usage error for an id or a flag's value that cannot be meant: the hub
// would refuse it under the name of a field, which nobody typed.
func refuseMalformed(cmd *cobra.Command, args []string) (err error) {
	names := argumentNames(cmd)
	if cmd.HasParent() && slices.Contains(groupsWithIDs, cmd.Parent().Name()) && slices.Contains(names, "ID") {
		for _, arg := range args {
			isEvent := slices.Contains(names, "EVENT") && strings.HasPrefix(arg, eventPrefix)
			if _, err := uuid.Parse(arg); err != nil && !isEvent {
				return malformedID(arg, cmd.Parent().CommandPath()+" list")
			}
		}
	}
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		value := flag.Value.String()
		if err != nil || value == "" || flag.Value.Type() != "string" {
			return
		}
		if list := flagsWithIDs[flag.Name]; list != "" {
			if _, malformed := uuid.Parse(value); malformed != nil {
				err = malformedID(value, list)
			}
		}
		if allowed := flag.Annotations[choicesKey]; allowed != nil && !slices.Contains(allowed, value) {
			err = usagef("--%s is %s, not %q", flag.Name, orList(allowed), value)
		}
	})
	return err
}

// malformedID is the error of a text that is no id, with the command that lists ids.
func malformedID(text, list string) error {
	return &failure{code: exitUsage, err: fmt.Errorf("%q is no id", text), hint: "see: " + list}
}

// orList joins values for people: "a, b or c".
func orList(values []string) string {
	last := len(values) - 1
	if last < 1 {
		return strings.Join(values, "")
	}
	return strings.Join(values[:last], ", ") + " or " + values[last]
}
