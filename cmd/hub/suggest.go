package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"integrationhub/hub/spelling"
)

// maxTypingErrors is how many characters a mistyped name may differ by to be recognized.
const maxTypingErrors = 2

// synonyms are names that other programs have for the commands.
var synonyms = map[string][]string{
	"create":  {"add", "new", "make"},
	"delete":  {"remove", "rm", "destroy"},
	"list":    {"ls", "all"},
	"show":    {"get", "describe", "view", "info"},
	"update":  {"edit", "set", "change"},
	"enable":  {"activate", "resume"},
	"disable": {"deactivate", "pause"},
	"cancel":  {"stop", "abort"},
	"revoke":  {"delete", "remove", "rm"},
	"retry":   {"resend", "redeliver", "requeue"},
	"lookup":  {"search", "find"},
}

// addSuggestions makes every command suggest the nearest command or flag.
func addSuggestions(cmd *cobra.Command) {
	cmd.SuggestFor = append(cmd.SuggestFor, synonyms[cmd.Name()]...)
	cmd.SuggestionsMinimumDistance = maxTypingErrors
	cmd.SetFlagErrorFunc(flagError)
	for _, child := range cmd.Commands() {
		addSuggestions(child)
	}
}

// flagError adds the nearest flag to the error of an unknown one.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	name := unknown.GetSpecifiedName()
	best, distance := "", maxTypingErrors+1
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if flag.Hidden || len(name) < 2 {
			return
		}
		errs := spelling.Distance(name, flag.Name)
		if len(name) > 2 && (strings.HasPrefix(flag.Name, name) || strings.HasPrefix(name, flag.Name)) {
			errs = min(errs, 1)
		}
		if errs < distance {
			best, distance = flag.Name, errs
		}
	})
	if best == "" {
		return err
	}
	return fmt.Errorf("%w; did you mean --%s?", err, best)
}

// commandError is the error of an unknown command of cmd, with the nearest one.
func commandError(cmd *cobra.Command, name string) error {
	names := make([]string, 0, len(cmd.Commands()))
	for _, child := range cmd.Commands() {
		if child.IsAvailableCommand() {
			names = append(names, child.Name())
		}
	}
	near := cmd.SuggestionsFor(name)
	slices.Sort(near)
	if near = slices.Compact(near); len(near) > 0 {
		return fmt.Errorf("%s has no command %q; did you mean %s?", cmd.CommandPath(), name, strings.Join(near, " or "))
	}
	return fmt.Errorf("%s has no command %q; it has: %s", cmd.CommandPath(), name, strings.Join(names, ", "))
}

// noArguments refuses arguments of a command with children: they are mistyped commands.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return commandError(cmd, args[0])
}
