package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// nounsOfArguments are the arguments, by their names in the usage, that name something. An empty
// one is a variable that was not set: as a part of a path it would name the list.
var nounsOfArguments = map[string]string{
	"ID": "id", "EVENT": "id", "TENANT": "id", "TYPE": "type", "EMAIL": "address", "NAME": "name", "NEW-NAME": "new name", "PEER": "name of the peer", "PRODUCT": "name of the product",
}

// nounsOfFlags are the flags that name something. An empty one would be none: all of a log would
// be listed or replayed, and what has to happen once would happen twice.
var nounsOfFlags = map[string]string{
	"tenant": "id", "endpoint": "id", "integration": "id", "event": "id", "id": "id", "actor": "id", "idempotency-key": "key",
}

// refuseEmptyIDs is a usage error for an empty argument or flag that names something.
func refuseEmptyIDs(cmd *cobra.Command, args []string) (err error) {
	names := argumentNames(cmd)
	for i, arg := range args {
		if strings.TrimSpace(arg) != "" || len(names) == 0 {
			continue
		}
		if noun := nounsOfArguments[names[min(i, len(names)-1)]]; noun != "" {
			return usagef("the %s is empty", noun)
		}
	}
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		noun := nounsOfFlags[flag.Name]
		meansSomething := strings.Contains(flag.Usage, "''")
		if noun != "" && flag.Value.Type() == "string" && strings.TrimSpace(flag.Value.String()) == "" && !meansSomething && err == nil {
			err = usagef("--%s: the %s is empty", flag.Name, noun)
		}
	})
	return err
}

// argumentNames returns the names that a command's usage has for its arguments.
func argumentNames(cmd *cobra.Command) []string {
	return strings.FieldsFunc(cmd.Use, func(r rune) bool { return strings.ContainsRune(" []…", r) })[1:]
}
