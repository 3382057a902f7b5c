package filter

import (
	"errors"
	"fmt"

	"cel.dev/cel-go/common/ast"
)

// maxMacros is how many of all, exists, filter, map and so on an expression may have. The time
// that it takes to compile grows with the third power of it.
const maxMacros = 20

// checkForm returns an error for an expression that must not be compiled: the types in it could
// grow without bound, and nothing can interrupt that.
func checkForm(text string, parsed *ast.AST) error {
	macros := 0
	var failure error
	refuse := func(e ast.Expr, problem string) {
		if failure == nil {
			failure = errors.New(problem)
			if location := parsed.SourceInfo().GetStartLocation(e.ID()); location.Line() > 0 {
				failure = fmt.Errorf("%s: %s", place(text, location), problem)
			}
		}
	}
	ast.PreOrderVisit(parsed.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.ComprehensionKind:
			if macros++; macros > maxMacros {
				refuse(e, fmt.Sprintf("must have at most %d of all, exists, filter, map and the like", maxMacros))
			}
		case ast.StructKind:
			refuse(e, "a filter cannot make an object of a type")
		case ast.MapKind:
			for _, entry := range e.AsMap().Entries() {
				if !isPlainKey(entry.AsMapEntry().Key()) {
					refuse(e, `the keys of an object must be texts or numbers as they stand, such as {"a": 1}`)
				}
			}
		}
	}))
	return failure
}

// isPlainKey reports whether an expression is a constant that can be a key.
func isPlainKey(e ast.Expr) bool {
	if e.Kind() != ast.LiteralKind {
		return false
	}
	switch e.AsLiteral().Value().(type) {
	case string, int64, uint64, bool:
		return true
	}
	return false
}
