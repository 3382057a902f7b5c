package main

import (
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"integrationhub/cmd/hub/internal/client"
	"integrationhub/cmd/hub/internal/terminal"
)

func newPhone(a *app) *cobra.Command {
	cmd := group("phone", "Use phones of the simulated chat network, in development",
		newPhoneAdd(a), newPhoneList(a), newPhoneScan(a), newPhoneSend(a), newPhoneInbox(a), newPhoneRead(a),
		newPhoneAct(a, "ban", "Ban a connection's number from the network"), newPhoneAct(a, "logout", "Log a connection out, as its phone would"),
		newPhoneAct(a, "offline", "Take a connection's phone offline"), newPhoneAct(a, "online", "Take it online again; what waited arrives"))
	cmd.Long = `Use phones of the chat network that the messaging platform simulates in development.
They are also on a page: /messaging/sandbox/phone. Numbers are digits with the country
code.`
	return cmd
}

// phoneCommand makes a command that calls the simulated network.
func (a *app) phoneCommand(use, short, example string, args []string, work func(cmd *cobra.Command, c *client.Client, args []string) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Example: "  " + example, Args: exactly(args...), RunE: func(cmd *cobra.Command, args []string) error {
		c, err := a.operatorClient()
		if err != nil {
			return err
		}
		return work(cmd, c, args)
	}}
}

func newPhoneAdd(a *app) *cobra.Command {
	return a.phoneCommand("add NUMBER NAME", "Make a phone, or rename it", `hub phone add 5511987654321 "Ana Souza"`, []string{"NUMBER", "NAME"},
		func(cmd *cobra.Command, c *client.Client, args []string) error {
			reply, err := c.AddPhone(cmd.Context(), args[0], args[1])
			if err != nil {
				return err
			}
			if a.json() {
				return a.printRaw(reply.Raw)
			}
			a.print("%s", terminal.Printable(reply.Value.Number))
			return nil
		})
}

func newPhoneList(a *app) *cobra.Command {
	return a.phoneCommand("list", "List the phones", "hub phone list", nil, func(cmd *cobra.Command, c *client.Client, _ []string) error {
		reply, err := c.Phones(cmd.Context())
		if err != nil {
			return err
		}
		if a.json() {
			return a.printRaw(reply.Raw)
		}
		rows := make([][]string, 0, len(reply.Value))
		for _, phone := range reply.Value {
			rows = append(rows, []string{terminal.Printable(phone.Number), terminal.Printable(phone.Name)})
		}
		a.table([]column{{title: "number"}, {title: "name"}}, rows)
		return nil
	})
}

func newPhoneScan(a *app) *cobra.Command {
	return a.phoneCommand("scan NUMBER CODE", "Scan the text of a connection's QR code", `hub phone scan 5511900000001 'sandbox:pair?c=1&n=…'`, []string{"NUMBER", "CODE"},
		func(cmd *cobra.Command, c *client.Client, args []string) error {
			reply, err := c.ScanCode(cmd.Context(), args[0], args[1])
			return a.printPairing(reply, err)
		})
}

// printPairing prints the state of a connection.
func (a *app) printPairing(reply client.Reply[client.Pairing], err error) error {
	if err != nil {
		return err
	}
	if a.json() {
		return a.printRaw(reply.Raw)
	}
	a.print("%s", terminal.Printable(reply.Value.Status))
	return nil
}

func newPhoneSend(a *app) *cobra.Command {
	var media string
	cmd := a.phoneCommand("send NUMBER TO TEXT", "Send a message to a connection's number", `hub phone send 5511987654321 5511900000001 "Can we make it 11?"`, []string{"NUMBER", "TO", "TEXT"},
		func(cmd *cobra.Command, c *client.Client, args []string) error {
			reply, err := c.SendFromPhone(cmd.Context(), args[0], args[1], args[2], media)
			if err != nil {
				return err
			}
			if a.json() {
				return a.printRaw(reply.Raw)
			}
			a.print("%s", terminal.Printable(reply.Value.ID))
			return nil
		})
	cmd.Flags().StringVar(&media, "media", "", "address of a file to send with it: http(s) or data URL")
	return cmd
}

func newPhoneInbox(a *app) *cobra.Command {
	return a.phoneCommand("inbox NUMBER", "Show what a phone has received", "hub phone inbox 5511987654321", []string{"NUMBER"},
		func(cmd *cobra.Command, c *client.Client, args []string) error {
			reply, err := c.PhoneInbox(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if a.json() {
				return a.printRaw(reply.Raw)
			}
			rows := make([][]string, 0, len(reply.Value.Messages))
			for _, message := range reply.Value.Messages {
				rows = append(rows, []string{message.At.UTC().Format(time.DateTime), terminal.Printable(message.From), terminal.Printable(message.Body), terminal.Printable(message.ID)})
			}
			a.table([]column{{title: "time"}, {title: "from"}, {title: "text"}, {title: "id"}}, rows)
			return nil
		})
}

func newPhoneRead(a *app) *cobra.Command {
	var ids []string
	cmd := a.phoneCommand("read NUMBER", "Mark what a phone has received as read", "hub phone read 5511987654321", []string{"NUMBER"},
		func(cmd *cobra.Command, c *client.Client, args []string) error {
			reply, err := c.ReadPhone(cmd.Context(), args[0], ids)
			if err == nil && a.json() {
				return a.printRaw(reply.Raw)
			}
			return err
		})
	cmd.Flags().StringSliceVar(&ids, "id", nil, "only this message; repeatable")
	return cmd
}

func newPhoneAct(a *app, action, short string) *cobra.Command {
	return a.phoneCommand(action+" CONNECTION", short, "hub phone "+action+" 2", []string{"CONNECTION"},
		func(cmd *cobra.Command, c *client.Client, args []string) error {
			id, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil || id < 1 {
				return usagef("CONNECTION is the id of a connection, such as 2")
			}
			reply, err := c.ActOnConnection(cmd.Context(), id, action)
			return a.printPairing(reply, err)
		})
}
