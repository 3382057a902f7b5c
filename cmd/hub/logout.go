package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newLogout(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "logout",
		Short: "End the saved login",
		Args:  exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			target, err := a.resolveConnection()
			if err != nil {
				return err
			}
			tokens, ok := target.tokens.(*savedTokens)
			if !ok {
				a.note("there is no saved login at %s", target.url)
				return nil
			}
			saved, err := a.loadCredentials()
			if err != nil {
				return err
			}
			c, err := a.client(connection{url: target.url, source: target.source, invalidURLCode: target.invalidURLCode, tokens: tokens}, "")
			if err != nil {
				return err
			}
			failure := c.Logout(cmd.Context(), saved.Logins[target.url].RefreshToken)
			if err := a.forgetLogin(target.url); err != nil {
				return err
			}
			if failure != nil && exitCode(failure) != exitAuth {
				return fmt.Errorf("the login is forgotten here, but telling the hub failed: %w", failure)
			}
			a.note("logged out at %s", target.url)
			return nil
		},
	}
}

func (a *app) forgetLogin(address string) error {
	return a.changeCredentials(func(saved *credentials) error {
		delete(saved.Logins, address)
		if saved.Current == address {
			saved.Current = ""
		}
		return nil
	})
}
