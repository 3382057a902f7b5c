package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// commands lists all commands in the order of the help.
func commands() []func(*app) *cobra.Command {
	return []func(*app) *cobra.Command{
		newServe, newWorker, newMigrate, newDoctor, newConfig, newOpenAPI,
		newDemo, newPhone,
		newProducts, newEventTypes, newTenants, newKeys, newEndpoints,
		newConnect, newLink, newIntegrations,
		newPublish, newListen,
		newEvents, newDeliveries, newLookup, newTail, newReplay, newStats, newAudit, newMail,
		newOperators, newTokens, newAlerts, newLogin, newLogout, newWhoami,
		newVersion,
	}
}

const rootLong = `hub receives events from products and delivers them, signed, to all subscribed
endpoints; it retries, keeps a log and loses nothing.

Commands that talk to a running hub find it, and their right to use it, through
--url and --token (HUB_URL, HUB_TOKEN), else the login saved by "hub login", else
the file local.json that "hub serve" writes into its data directory: on the
server's own machine nothing needs to be set. Publishing uses a tenant's key
instead: put it into HUB_KEY.

Values go to stdout, notes to stderr. Exit codes: 0 ok, 1 failure, 2 usage,
3 configuration, 4 not allowed, 5 not found, 6 partly done.`

// keepCommandOrder keeps cobra from sorting commands, in all trees of this process.
var keepCommandOrder = sync.OnceFunc(func() { cobra.EnableCommandSorting = false })

// newRoot returns the command tree.
func newRoot(a *app) *cobra.Command {
	keepCommandOrder()
	var showsVersion, asJSON bool
	version := newVersion(a)
	root := &cobra.Command{
		Use:           "hub",
		Short:         "Integration hub and webhook gateway",
		Long:          rootLong,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			if showsVersion {
				return version.RunE(cmd, args)
			}
			return cmd.Help()
		},
		PersistentPreRunE: func(*cobra.Command, []string) error {
			return a.checkOutput(asJSON)
		},
	}
	flags := root.PersistentFlags()
	flags.StringVar(&a.url, "url", "", "address of the hub itself, never of an endpoint (HUB_URL)")
	flags.StringVar(&a.token, "token", "", "operator's token, @file or - for stdin (HUB_TOKEN, safer)")
	flags.StringVar(&a.dataDir, "data-dir", "", "data directory of the hub on this machine (HUB_DATA_DIR, default ./data)")
	flags.StringVarP(&a.output, "output", "o", outputTable, "output: table or json (the API's response)")
	flags.BoolVar(&asJSON, "json", false, "the same as --output json")
	flags.BoolVarP(&a.quiet, "quiet", "q", false, "print only the id, key or secret, and no notes")
	root.Flags().BoolVar(&showsVersion, "version", false, "print what this binary was built from")
	_ = root.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{outputTable, outputJSON}, cobra.ShellCompDirectiveNoFileComp))
	root.SetOut(checkedOutput{a})
	root.SetErr(a.err)
	for _, command := range commands() {
		root.AddCommand(command(a))
	}
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	refuseUnknownTopics(root)
	addSuggestions(root)
	a.addCompletions(root)
	a.markStart(root)
	return root
}

// refuseUnknownTopics makes the library's own commands refuse what they do not know, as others do.
func refuseUnknownTopics(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "completion":
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() } // else nothing checks the arguments
			cmd.Args = func(cmd *cobra.Command, args []string) error {
				if len(args) == 0 {
					return nil
				}
				return commandError(cmd, args[0])
			}
		case "help":
			cmd.Args = func(_ *cobra.Command, args []string) error {
				found, rest, err := root.Find(args)
				switch {
				case err != nil:
					return commandError(root, args[0])
				case len(rest) > 0 && found.HasSubCommands():
					return commandError(found, rest[0])
				}
				return nil
			}
		}
	}
}

// markStart makes every command refuse ids and values that cannot be meant, and then set a.started:
// errors before that are usage errors.
func (a *app) markStart(cmd *cobra.Command) {
	if work := cmd.RunE; work != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if err := refuseEmptyIDs(cmd, args); err != nil {
				return err
			}
			if err := refuseMalformed(cmd, args); err != nil {
				return err
			}
			a.started = true
			return work(cmd, args)
		}
	}
	for _, child := range cmd.Commands() {
		a.markStart(child)
	}
}

// group returns a command that only holds others.
func group(use, short string, children ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Args: func(cmd *cobra.Command, args []string) error {
			names := make([]string, 0, len(children))
			for _, child := range children {
				names = append(names, child.Name())
			}
			childNames := strings.Join(names, ", ")
			if len(args) == 0 {
				return fmt.Errorf("%s needs one of: %s", cmd.CommandPath(), childNames)
			}
			return commandError(cmd, args[0])
		},
		RunE: func(*cobra.Command, []string) error { return nil }, // never reached: Args always refuses
	}
	cmd.AddCommand(children...)
	return cmd
}

// run executes the command line and returns the exit code.
func run(args []string, a *app) int {
	ctx, stop := interruptible(context.Background())
	defer stop()
	root := newRoot(a)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	switch {
	case err == nil:
		if err = a.outputError(); err == nil {
			return exitOK
		}
	case !a.started:
		err = &failure{code: exitUsage, err: err, hint: cmp.Or(a.hint(err), "see: "+cmd.CommandPath()+" --help")}
	}
	a.report(err)
	return exitCode(err)
}

// interruptible returns a context that ends when the program is to stop: by Ctrl-C, by SIGTERM,
// or because its terminal is closed, which nohup makes it ignore.
func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	if signal.Ignored(syscall.SIGHUP) {
		return ctx, func() { stop(); cancel() }
	}
	// A closing terminal sends it, and so does its shell: the second must not cut off what the
	// first began.
	hangUp := make(chan os.Signal, 1)
	signal.Notify(hangUp, syscall.SIGHUP)
	// What has not ended by then ends by the next signal, as by a second Ctrl-C.
	context.AfterFunc(ctx, func() { time.AfterFunc(afterInterrupt, func() { signal.Stop(hangUp) }) })
	go func() {
		select {
		case <-hangUp:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(hangUp)
		stop()
		cancel()
	}
}
