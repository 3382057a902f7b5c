package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"integrationhub/cmd/hub/internal/client"
	"integrationhub/cmd/hub/internal/terminal"
)

func newLogin(a *app) *cobra.Command {
	var email string
	var passwordStdin bool
	cmd := &cobra.Command{
		Use:   "login",
		Short: "Log in as an operator and remember it",
		Long: `Log in as an operator. The session is kept in hub/credentials.json below
$XDG_CONFIG_HOME, readable by you alone, and renews itself.`,
		Example: `  hub login --url https://hub.example.com --email ana@example.com
  pass hub | hub login --email ana@example.com --password-stdin`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			target, err := a.resolveConnection()
			if err != nil {
				return err
			}
			target.tokens = nil
			c, err := a.client(target, "")
			if err != nil {
				return err
			}
			if strings.HasPrefix(target.url, "http://") && !isLoopback(target.url) {
				a.warn("%s is not encrypted: others can read the password on its way", target.url)
			}
			if err := c.Probe(cmd.Context()); err != nil { // before a password is asked for, or sent
				return err
			}
			if email, err = a.askEmail(cmd.Context(), email); err != nil {
				return err
			}
			password, err := a.askPassword(cmd.Context(), passwordStdin)
			if err != nil {
				return err
			}
			reply, err := c.Login(cmd.Context(), email, password)
			if err != nil {
				return loginError(err)
			}
			if err := a.saveLogin(target.url, loginOf(reply.Value, a.now())); err != nil {
				return err
			}
			a.note("logged in at %s as %s (%s)", target.url, terminal.Printable(reply.Value.Operator.Email), reply.Value.Operator.Role)
			if a.json() {
				return a.printValue(reply.Value.Operator)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&email, "email", "", "the operator's e-mail address")
	cmd.Flags().BoolVar(&passwordStdin, "password-stdin", false, "read the password from stdin")
	return cmd
}

// loginError replaces the hint of other commands ("log in") for login itself.
func loginError(err error) error {
	var problem *client.Problem
	if errors.As(err, &problem) && exitCode(err) == exitAuth {
		return &failure{code: exitAuth, err: err, hint: "check the e-mail address and the password"}
	}
	return err
}

func (a *app) saveLogin(address string, session login) error {
	return a.changeCredentials(func(saved *credentials) error {
		saved.Current, saved.Logins[address] = address, session
		return nil
	})
}

func (a *app) askEmail(ctx context.Context, email string) (string, error) {
	if email != "" {
		return email, nil
	}
	if !a.interactive() {
		return "", usagef("--email is needed: there is no terminal to ask on")
	}
	_, _ = fmt.Fprint(a.err, "E-mail: ")
	line, err := await(ctx, a.readLine)
	if err != nil {
		return "", fmt.Errorf("reading the e-mail address: %w", err)
	}
	return strings.TrimSpace(line), nil
}

func (a *app) askPassword(ctx context.Context, stdin bool) (string, error) {
	if stdin {
		line, err := a.readLine()
		if err != nil {
			return "", fmt.Errorf("reading the password from stdin: %w", err)
		}
		return strings.TrimSuffix(line, "\r"), nil
	}
	if !a.interactive() {
		return "", usagef("--password-stdin is needed: there is no terminal to ask on")
	}
	terminal := int(a.in.Fd())
	before, err := term.GetState(terminal)
	if err != nil {
		return "", fmt.Errorf("reading the password: %w", err)
	}
	_, _ = fmt.Fprint(a.err, "Password: ")
	password, err := await(ctx, func() (string, error) {
		raw, err := term.ReadPassword(terminal)
		return string(raw), err
	})
	_, _ = fmt.Fprintln(a.err)
	if err != nil {
		if ctx.Err() != nil {
			restoreEcho(terminal, before)
		}
		return "", fmt.Errorf("reading the password: %w", err)
	}
	return password, nil
}

// restoreEcho restores a terminal's state after term.ReadPassword was abandoned. That turns
// the echo off at its beginning: restoring before then would leave it off.
func restoreEcho(terminal int, before *term.State) {
	for deadline := time.Now().Add(time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if now, err := term.GetState(terminal); err != nil || !reflect.DeepEqual(now, before) {
			break
		}
	}
	_ = term.Restore(terminal, before)
}
