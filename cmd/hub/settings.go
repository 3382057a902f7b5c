package main

import (
	"errors"
	"log/slog"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"integrationhub/hub/config"
)

// settingFlags adds --config, and a flag for every setting that has one.
func settingFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.String("config", "", "YAML file with settings (HUB_CONFIG)")
	for _, setting := range config.Settings() {
		if setting.Flag == "" || setting.Flag == "data-dir" { // a flag of all commands
			continue
		}
		usage := setting.Doc + " (" + setting.Env + ")"
		if setting.Default != "" {
			usage += " [default " + setting.Default + "]"
		}
		flags.String(setting.Flag, "", usage)
	}
}

// loadConfig reads the settings of a command that has settingFlags and checks them.
func (a *app) loadConfig(cmd *cobra.Command) (config.Config, error) {
	values := make(map[string]string)
	cmd.Flags().Visit(func(f *pflag.Flag) { values[f.Name] = f.Value.String() })
	cfg, warnings, err := config.Load(config.Sources{Flags: values, Environ: os.Environ(), File: values["config"]})
	for _, warning := range warnings {
		a.warn("%s", warning)
	}
	if err = errors.Join(err, validated(cfg, err)); err != nil {
		return cfg, &failure{code: exitConfig, err: err, hint: "every setting is explained in: hub config reference"}
	}
	for _, warning := range cfg.Warnings() {
		a.warn("%s", warning)
	}
	return cfg, nil
}

// validated checks settings that were loaded without an error.
func validated(cfg config.Config, loading error) error {
	if loading != nil {
		return nil
	}
	return cfg.Validate()
}

// logger writes JSON lines to standard error.
func (a *app) logger(cfg config.Config) *slog.Logger {
	return slog.New(slog.NewJSONHandler(a.err, &slog.HandlerOptions{Level: cfg.SlogLevel()}))
}

func newConfig(a *app) *cobra.Command {
	show := &cobra.Command{
		Use: "print", Short: "Print the settings as they are in force, secrets hidden", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.loadConfig(cmd)
			if err != nil {
				return err
			}
			if a.json() {
				return a.printValue(cfg.Values())
			}
			a.print("%s", cfg.Print())
			return nil
		},
	}
	settingFlags(show)
	return group("config", "Show and explain the settings",
		show,
		&cobra.Command{Use: "reference", Short: "Explain every setting", Args: exactly(), RunE: func(*cobra.Command, []string) error {
			a.print("%s", config.Reference())
			return nil
		}},
		&cobra.Command{Use: "example", Short: "Print a configuration file with every key", Args: exactly(), RunE: func(*cobra.Command, []string) error {
			a.print("%s", config.Example())
			return nil
		}},
	)
}
