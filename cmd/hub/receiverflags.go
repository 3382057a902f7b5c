package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"integrationhub/cmd/hub/internal/client"
)

// receiverFlags holds the flags for headers and the client certificate.
type receiverFlags struct {
	headers          []string
	certificate, key string
}

// receiverSettings are the names of the flags.
var receiverSettings = []string{"header", "client-certificate", "client-key"}

func (f *receiverFlags) addTo(cmd *cobra.Command, removing string) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.headers, "header", nil, "header to send with each attempt, as 'Name: value' or 'Name: @file'; repeatable"+removing)
	flags.StringVar(&f.certificate, "client-certificate", "", "file with the certificate that the hub shows this receiver, PEM, or -; with --client-key"+removing)
	flags.StringVar(&f.key, "client-key", "", "file with the certificate's private key, PEM, not encrypted, or -")
}

// read returns the settings of the flags that were set.
func (f *receiverFlags) read(a *app, cmd *cobra.Command) (settings client.ReceiverSettings, err error) {
	if cmd.Flags().Changed("header") {
		headers := make(map[string]string, len(f.headers))
		settings.Headers = &headers
		for _, line := range f.headers {
			if line == "" {
				continue // none
			}
			name, value, found := strings.Cut(line, ":")
			if !found {
				return settings, usagef("--header is 'Name: value'; there is no colon") // not the value: it may be a secret
			}
			if headers[name], err = a.secret(strings.TrimSpace(value)); err != nil {
				return settings, err
			}
		}
	}
	if !cmd.Flags().Changed("client-certificate") && !cmd.Flags().Changed("client-key") {
		return settings, nil
	}
	settings.ClientCertificate = &client.Certificate{}
	if f.certificate == "" && f.key == "" {
		return settings, nil // none
	}
	if f.certificate == "" || f.key == "" {
		return settings, usagef("--client-certificate and --client-key go together")
	}
	if settings.ClientCertificate.Certificate, err = a.pem(f.certificate); err != nil {
		return settings, err
	}
	settings.ClientCertificate.Key, err = a.pem(f.key)
	return settings, err
}

// pemMax bounds what is read of a PEM file, in bytes. The hub accepts less.
const pemMax = 128 << 10

// pem reads a PEM file, or - for the standard input.
func (a *app) pem(name string) (string, error) {
	reader, closeInput, err := a.source(name)
	if err != nil {
		return "", err
	}
	defer closeInput()
	text, err := io.ReadAll(io.LimitReader(reader, pemMax))
	if err != nil {
		return "", configf("reading %s: %w", name, err)
	}
	if len(text) == 0 { // of both: it would remove the certificate
		return "", configf("reading %s: it is empty", name)
	}
	return string(text), nil
}
