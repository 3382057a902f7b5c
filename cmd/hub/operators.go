package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"integrationhub/cmd/hub/internal/client"
	"integrationhub/cmd/hub/internal/terminal"
)

func newOperators(a *app) *cobra.Command {
	return group("operators", "See and manage the people who run the hub",
		newOperatorsCreate(a), newOperatorsList(a), newOperatorsUpdate(a),
		newOperatorsSwitch(a, "enable", "Let operators log in again", true),
		newOperatorsSwitch(a, "disable", "End operators' logins and refuse new ones", false),
		newOperatorsDelete(a))
}

const operatorArgument = "the operator's e-mail address or ID"

func newOperatorsCreate(a *app) *cobra.Command {
	var in client.OperatorInput
	var passwordStdin bool
	cmd := &cobra.Command{
		Use:   "create EMAIL --name NAME",
		Short: "Make an operator",
		Example: `  hub operators create bia@example.com --name Bia --role support
  pass hub-bia | hub operators create bia@example.com --name Bia --role admin --password-stdin`,
		Args: exactly("EMAIL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if in.Email = args[0]; in.Name == "" {
				return usagef("--name is needed: how people know the operator")
			}
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			if in.Password, err = a.askPassword(cmd.Context(), passwordStdin); err != nil {
				return err
			}
			reply, err := c.CreateOperator(cmd.Context(), in)
			if err != nil {
				return err
			}
			return a.printOperator(reply)
		},
	}
	operatorFlags(cmd, &in, &passwordStdin)
	return cmd
}

// operatorFlags adds the flags of an operator's settings.
func operatorFlags(cmd *cobra.Command, in *client.OperatorInput, passwordStdin *bool) {
	cmd.Flags().StringVar(&in.Name, "name", "", "name for people")
	cmd.Flags().StringVar(&in.Role, "role", "support", "admin, or support: reads, retries and replays")
	cmd.Flags().BoolVar(passwordStdin, "password-stdin", false, "read the password from stdin")
	choices(cmd, "role", "admin", "support")
}

func operatorStatus(o client.Operator) string {
	if o.Disabled {
		return "disabled"
	}
	return "active"
}

// printOperator prints an operator.
func (a *app) printOperator(reply client.Reply[client.Operator]) error {
	o := reply.Value
	return a.printCreated(reply.Raw, o.ID, "id", o.ID, "email", o.Email, "name", o.Name, "role", o.Role, "status", operatorStatus(o))
}

func newOperatorsList(a *app) *cobra.Command {
	var p paging
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List operators",
		Args:  exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			return listing[client.Operator]{
				fetch:   c.Operators,
				columns: []column{{title: "id"}, {title: "e-mail"}, {title: "name"}, {title: "role"}, {title: "status", paint: statusColour}},
				row: func(o client.Operator) []string {
					return []string{o.ID, o.Email, o.Name, o.Role, operatorStatus(o)}
				},
				id: func(o client.Operator) string { return o.ID },
			}.show(cmd.Context(), a, p)
		},
	}
	p.addTo(cmd)
	return cmd
}

func newOperatorsUpdate(a *app) *cobra.Command {
	var changes client.OperatorInput
	var passwordStdin bool
	cmd := &cobra.Command{
		Use:     "update EMAIL",
		Short:   "Change an operator's address, name, role or password; what is not given stays",
		Example: `  hub operators update bia@example.com --role admin`,
		Args:    exactly(operatorArgument),
		RunE: func(cmd *cobra.Command, args []string) error {
			flags := cmd.Flags()
			if !flags.Changed("email") && !flags.Changed("name") && !flags.Changed("role") && !passwordStdin {
				return usagef("nothing to change: give --email, --name, --role or --password-stdin")
			}
			return a.changeOperator(cmd.Context(), args[0], func(in *client.OperatorInput) (err error) {
				if flags.Changed("email") {
					in.Email = changes.Email
				}
				if flags.Changed("name") {
					in.Name = changes.Name
				}
				if flags.Changed("role") {
					in.Role = changes.Role
				}
				if passwordStdin {
					in.Password, err = a.askPassword(cmd.Context(), true)
				}
				return err
			})
		},
	}
	operatorFlags(cmd, &changes, &passwordStdin)
	cmd.Flags().StringVar(&changes.Email, "email", "", "the operator's e-mail address")
	return cmd
}

// changeOperator applies change to an operator and prints it.
func (a *app) changeOperator(ctx context.Context, argument string, change func(*client.OperatorInput) error) error {
	c, err := a.operatorClient()
	if err != nil {
		return err
	}
	current, err := findOperator(ctx, c, argument)
	if err != nil {
		return err
	}
	in := client.OperatorInput{Email: current.Email, Name: current.Name, Role: current.Role}
	if err := change(&in); err != nil {
		return err
	}
	reply, err := c.UpdateOperator(ctx, current.ID, in)
	if err != nil {
		return err
	}
	return a.printOperator(reply)
}

// newOperatorsSwitch returns a command that enables or disables operators.
func newOperatorsSwitch(a *app, name, short string, enabled bool) *cobra.Command {
	disabled := !enabled
	return &cobra.Command{
		Use:   name + " EMAIL…",
		Short: short,
		Args:  atLeastOne("operator's e-mail address or ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.eachID(cmd.Context(), args, func(argument string) error {
				return a.changeOperator(cmd.Context(), argument, func(in *client.OperatorInput) error {
					in.Disabled = &disabled
					return nil
				})
			})
		},
	}
}

func newOperatorsDelete(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "delete EMAIL…",
		Short: "Delete operators; the audit log keeps what they did",
		Args:  atLeastOne("operator's e-mail address or ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			return a.eachID(cmd.Context(), args, func(argument string) error {
				operator, err := findOperator(cmd.Context(), c, argument)
				if err != nil {
					return err
				}
				if err := c.DeleteOperator(cmd.Context(), operator.ID); err != nil {
					return err
				}
				a.note("deleted %s", terminal.Printable(operator.Email))
				return nil
			})
		},
	}
}

// findOperator returns the operator with an id or an e-mail address, letter case aside.
func findOperator(ctx context.Context, c *client.Client, argument string) (client.Operator, error) {
	_, err := uuid.Parse(argument)
	isID := err == nil
	for cursor := ""; ; {
		page, err := c.Operators(ctx, client.PageQuery{Limit: pageMax, Cursor: cursor})
		if err != nil {
			return client.Operator{}, err
		}
		for _, operator := range page.Value.Items {
			if isID && operator.ID == strings.ToLower(argument) || !isID && strings.EqualFold(operator.Email, argument) {
				return operator, nil
			}
		}
		if page.Value.NextCursor == nil {
			return client.Operator{}, &failure{code: exitNotFound, err: fmt.Errorf("there is no operator %s", argument), hint: "see: hub operators list"}
		}
		cursor = *page.Value.NextCursor
	}
}
