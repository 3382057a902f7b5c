package main

import (
	"cmp"
	"regexp"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"integrationhub/cmd/hub/internal/client"
	"integrationhub/cmd/hub/internal/terminal"
	"integrationhub/hub/module/brazil"
)

func newLookup(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "lookup PHONE | E-MAIL | CPF…NN",
		Short: "Find people and deliveries by phone number, e-mail address or the end of a CPF",
		Long: `Find what the hosted products know of a person, and the newest deliveries whose payload
has the number, the address or the id of a match. A phone number is given as people write
it; without a country code it is Brazilian and needs its area code. Of a CPF the last two
digits are given, alone or masked: a whole one is never sent. Eleven digits that are a CPF
are read as one: write +55 before a phone number. The two digits match many people, whose
names are shortened. Lookups are limited for each operator and recorded in the audit log.
With --quiet only the ids of deliveries are printed.`,
		Example: `  hub lookup "+55 11 98765-4321"
  hub lookup ana@example.com
  hub lookup "***.***.***-09"
  hub lookup "(11) 98765-4321" -q | xargs -n 1 hub deliveries show`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 { // typed without quotes
				_, err := a.personQuery(strings.Join(args, " "))
				return err
			}
			return exactly("PHONE, E-MAIL or the last two digits of a CPF")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			query, err := a.personQuery(strings.Join(args, " "))
			if err != nil {
				return err
			}
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			reply, err := c.Lookup(cmd.Context(), query)
			if err != nil {
				return err
			}
			return a.printLookup(reply)
		},
	}
}

var (
	cpfEnd   = regexp.MustCompile(`^(?i:cpf)?[*.•…x\s-]*([0-9]{2})$`) // 09, …09, CPF…09, ***.***.***-09
	wholeCPF = regexp.MustCompile(`^(?:(?i:cpf)[\s:]*[0-9]{3}[.\s-]*[0-9]{3}[.\s-]*[0-9]{3}[.\s-]*|[0-9]{3}\.[0-9]{3}\.[0-9]{3}-)([0-9]{2})$`)
	// Digits in the groups of a CPF; a phone number is grouped otherwise, or not at all.
	likeCPF = regexp.MustCompile(`^[0-9]{3}[.\s-]?[0-9]{3}[.\s-]?[0-9]{3}[.\s-]?[0-9]{2}$`)
)

// personQuery parses an e-mail address, the end of a CPF, or a phone number.
func (a *app) personQuery(text string) (client.LookupQuery, error) {
	text = strings.TrimSpace(text)
	switch {
	case strings.Contains(text, "@"):
		return client.LookupQuery{Email: text}, nil
	case cpfEnd.MatchString(text):
		return client.LookupQuery{CPF: cpfEnd.FindStringSubmatch(text)[1]}, nil
	case wholeCPF.MatchString(text):
		a.note("only the last two digits of the CPF are looked up")
		return client.LookupQuery{CPF: wholeCPF.FindStringSubmatch(text)[1]}, nil
	case likeCPF.MatchString(text) && isCPF(text):
		digits := brazil.Digits(text)
		end := digits[len(digits)-2:]
		if digits == text && digits[2] == '9' && brazil.IsAreaCode(digits[:2]) {
			return client.LookupQuery{}, usagef("these digits are a CPF and may be a mobile number, so nothing was sent: write +55 before a phone number, or the end of the CPF: …%s", end)
		}
		a.note("read as a CPF, of which only the last two digits are looked up; write +55 before a phone number")
		return client.LookupQuery{CPF: end}, nil
	case isNumber(text):
		return client.LookupQuery{Phone: text}, nil
	}
	return client.LookupQuery{}, usagef("%q is no phone number, e-mail address or end of a CPF: people are found by those; others are found in the product itself", text)
}

// isCPF reports whether a text is a whole CPF with its check digits.
func isCPF(text string) bool {
	_, valid := brazil.ParseCPF(strings.Join(strings.Fields(text), ""))
	return valid
}

// isNumber reports whether a text is made of digits and what people write between them.
func isNumber(text string) bool {
	return strings.ContainsFunc(text, unicode.IsDigit) &&
		!strings.ContainsFunc(text, func(r rune) bool {
			return !unicode.IsDigit(r) && !unicode.IsSpace(r) && !strings.ContainsRune("+-().", r)
		})
}

// printLookup prints the result of a lookup.
func (a *app) printLookup(reply client.Reply[client.LookupResult]) error {
	result := reply.Value
	if a.json() {
		return a.printRaw(reply.Raw)
	}
	if a.quiet {
		for _, d := range result.Deliveries {
			a.print("%s", terminal.Printable(d.ID))
		}
		return nil
	}
	kind := "phone"
	if result.Email != "" {
		kind = "email"
	} else if result.CPF != "" {
		kind = "cpf"
	}
	a.print("%-5s  %s", kind, terminal.Printable(cmp.Or(result.Phone, result.Email, result.CPF)))
	if len(result.Matches) == 0 && len(result.Deliveries) == 0 {
		a.note("nothing is known of it")
		return nil
	}
	if len(result.Matches) > 0 {
		a.print("")
		rows := make([][]string, 0, len(result.Matches))
		for _, m := range result.Matches {
			rows = append(rows, []string{m.Product, m.Kind, m.Name, m.ID, m.TenantID, orDash(m.URL)})
		}
		a.table([]column{{title: "product"}, {title: "kind"}, {title: "name"}, {title: "id"}, {title: "tenant"}, {title: "url"}}, rows)
	}
	if result.Truncated {
		a.note("there may be more people: 100 of a product are shown")
	}
	if len(result.Deliveries) > 0 {
		a.print("")
		rows := make([][]string, 0, len(result.Deliveries))
		for _, d := range result.Deliveries {
			rows = append(rows, deliveryRow(d))
		}
		a.table(deliveryColumns(), rows)
	}
	return nil
}
