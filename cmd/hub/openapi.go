package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"integrationhub/hub/server"
)

func newOpenAPI(a *app) *cobra.Command {
	product := ""
	cmd := &cobra.Command{
		Use: "openapi", Short: "Print the OpenAPI 3.1 document of the hub's API, or of a product's", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			document, err := openAPI(cmd.Context(), product)
			if err != nil {
				return err
			}
			a.print("%s", document)
			return nil
		},
	}
	cmd.Flags().StringVar(&product, "product", "", "a hosted product: all that lies under its base, the integration interface included")
	return cmd
}

func openAPI(ctx context.Context, product string) ([]byte, error) {
	if product == "" {
		return server.OpenAPI(versionName())
	}
	var names []string
	for _, m := range modules() {
		if names = append(names, m.Spec().Name); m.Spec().Name == product {
			return server.ProductOpenAPI(ctx, m)
		}
	}
	return nil, usagef("%q is no product of this hub; it has %s", product, strings.Join(names, ", "))
}
