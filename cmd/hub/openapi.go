package main

import (
	"github.com/spf13/cobra"

	"integrationhub/hub/server"
)

func newOpenAPI(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "openapi", Short: "Print the OpenAPI 3.1 document of the hub's API", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			document, err := server.OpenAPI(versionName())
			if err != nil {
				return err
			}
			a.print("%s", document)
			return nil
		},
	}
}
