package chat

import (
	"fmt"
	"slices"
	"strings"
)

// Text returns a template as people read it in a ticket: its name and the values of its
// variables. The approved text itself is at the network.
func (t Template) Text() string {
	lines := []string{fmt.Sprintf("[%s · %s]", t.Name, t.Language)}
	for _, component := range t.Components {
		for _, parameter := range component.Parameters {
			line := parameter.value()
			if parameter.ParameterName != "" {
				line = parameter.ParameterName + ": " + line
			}
			if component.Type == "button" {
				line = "[" + line + "]"
			}
			lines = append(lines, line)
		}
	}
	text := []rune(strings.Join(lines, "\n"))
	return string(text[:min(len(text), maxTemplateBody)])
}

// value returns a parameter for people.
func (p TemplateParameter) value() string {
	switch {
	case p.Currency != nil:
		return p.Currency.FallbackValue
	case p.DateTime != nil:
		return p.DateTime.FallbackValue
	case p.Location != nil:
		return p.Location.Name + ", " + p.Location.Address
	case p.file() != nil:
		file := p.file()
		for _, name := range []string{file.Filename, file.Link} {
			if name != "" {
				return name
			}
		}
		return p.Type
	case p.Payload != "":
		return p.Payload
	case p.CouponCode != "":
		return p.CouponCode
	}
	return p.Text
}

// Render returns the template with the variables of its texts, payloads and addresses
// replaced, as [Render] does. Each value becomes one line, as networks accept it. ok is false if
// a parameter has no text then, or one that is too long.
func (t Template) Render(v Variables) (rendered Template, ok bool) {
	v.Name, v.Email = oneLine(v.Name), oneLine(v.Email)
	t.Components = slices.Clone(t.Components)
	for i, component := range t.Components {
		component.Parameters = slices.Clone(component.Parameters)
		for n, parameter := range component.Parameters {
			parameter.Text, parameter.Payload = Render(parameter.Text, v), Render(parameter.Payload, v)
			component.Parameters[n] = parameter
		}
		t.Components[i] = component
	}
	_, problem := t.Problem()
	return t, problem == ""
}

// oneLine returns a text with single spaces in place of white space.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
