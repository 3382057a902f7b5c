package events_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/events"
)

var update = flag.Bool("update", false, "write docs/contract.md anew")

const contractPage = "../../docs/contract.md"

// docs/contract.md is made from the structs and their comments.
func TestGeneratedFiles(t *testing.T) {
	t.Parallel()
	page := renderContract(t)
	if *update {
		require.NoError(t, os.WriteFile(contractPage, []byte(page), 0o600))
	}
	found, err := os.ReadFile(contractPage)
	require.NoError(t, err)
	require.Equal(t, page, string(found), "make generate writes it anew")
}

func renderContract(t *testing.T) string {
	t.Helper()
	var page strings.Builder
	page.WriteString(`# The contract between the products

<!-- Made from hub/events by make generate. -->

The events that scheduling, clinic and messaging products exchange, with the members of their ` + "`data`" + `. The envelope and the signature are in [interfaces/clinic.md](interfaces/clinic.md#webhook-envelope).

- Members marked *extra* are not in the interfaces: products of other makers may not send them.
- Receivers ignore members they do not know.
- Ids are opaque strings of the sending product. Amounts are numbers with two decimals.
- An event may arrive more than once, with the same id and bytes.
- Without an ordering key events may arrive in any order; integrations get the events of one key in order.
`)
	for _, product := range []struct {
		title, file string
		types       []string
	}{
		{"Scheduling sends", "scheduling.go", events.FromScheduling()},
		{"Clinic sends", "clinic.go", events.FromClinic()},
		{"Messaging sends", "messaging.go", events.FromMessaging()},
	} {
		fmt.Fprintf(&page, "\n## %s\n", product.title)
		structs := structsOf(t, product.file)
		require.Len(t, structs, len(product.types), product.file)
		for i, s := range structs {
			s.render(&page, product.types[i])
		}
	}
	return page.String()
}

// eventStruct is the source of one event's data.
type eventStruct struct {
	name, doc string
	fields    []*ast.Field
}

func structsOf(t *testing.T, file string) (list []eventStruct) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	require.NoError(t, err)
	for _, decl := range parsed.Decls {
		types, ok := decl.(*ast.GenDecl)
		if !ok || types.Tok != token.TYPE {
			continue
		}
		spec := types.Specs[0].(*ast.TypeSpec)
		list = append(list, eventStruct{spec.Name.Name, linked(types.Doc.Text()), spec.Type.(*ast.StructType).Fields.List})
	}
	return list
}

// linked turns the doc links of a comment into those of the page.
func linked(doc string) string {
	doc, _, _ = strings.Cut(doc, "\n\n")
	return strings.ReplaceAll(doc, "[erasure.md]", "[erasure.md](erasure.md)")
}

func (s eventStruct) render(page *strings.Builder, eventType string) {
	doc := strings.Join(strings.Fields(strings.TrimPrefix(s.doc, s.name+" ")), " ")
	fmt.Fprintf(page, "\n### %s\n\n%s%s\n\n| member | type | |\n|---|---|---|\n", eventType, strings.ToUpper(doc[:1]), doc[1:])
	for _, field := range s.fields {
		member, options, _ := strings.Cut(reflect.StructTag(strings.Trim(field.Tag.Value, "`")).Get("json"), ",")
		fmt.Fprintf(page, "| `%s` | %s | %s |\n", member, wireType(field.Type, options), note(field))
	}
}

// wireType names the JSON type of a field.
func wireType(expr ast.Expr, options string) string {
	switch x := expr.(type) {
	case *ast.StarExpr:
		if options == "omitempty" {
			return wireType(x.X, "") + ", may be absent"
		}
		return wireType(x.X, "") + " or null"
	case *ast.ArrayType:
		return "array of " + wireType(x.Elt, "")
	case *ast.SelectorExpr:
		return "date-time"
	case *ast.Ident:
		switch x.Name {
		case "bool":
			return "boolean"
		case "Decimal":
			return "number"
		}
	}
	return "string"
}

func note(field *ast.Field) string {
	text := strings.TrimSpace(field.Comment.Text())
	if rest, isExtra := strings.CutPrefix(text, "extra"); isExtra {
		return "*extra*" + rest
	}
	return text
}
