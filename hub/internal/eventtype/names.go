package eventtype

import (
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// addName notes a member whose name is not allowed. The library does not say where it is.
func (c *violationCollector) addName(e *jsonschema.ValidationError, name string) {
	message := "has a name that the schema does not allow"
	for _, cause := range e.Causes {
		if format, ok := cause.ErrorKind.(*kind.Format); ok { // of a regular expression in patternProperties
			message = messageOf(format)
		}
	}
	if c.names == nil {
		c.names = make(map[string]string)
	}
	if len(c.names) < maxCollected {
		c.names[name] = message
	}
}

// placeNames adds the violations of names. Their place is that of the only member of that
// name; where there are several, it is not known.
func (c *violationCollector) placeNames() {
	if len(c.names) == 0 {
		return
	}
	places := make(map[string][][]string, len(c.names))
	c.findNames(c.value, nil, places)
	for name, message := range c.names {
		violation := Violation{Message: "has members whose names the schema does not allow"}
		if found := places[name]; len(found) == 1 {
			violation = Violation{locate(found[0], c.value), message}
		}
		c.list = append(c.list, violation)
	}
}

// findNames finds the members that have one of the names, and stops at two for each.
func (c *violationCollector) findNames(value any, path []string, places map[string][][]string) {
	switch v := value.(type) {
	case []any:
		for i, item := range v {
			c.findNames(item, append(path, strconv.Itoa(i)), places)
		}
	case map[string]any:
		for name, member := range v {
			below := append(path, name) //nolint:gocritic // what is kept of it is copied
			if _, isWanted := c.names[name]; isWanted && len(places[name]) < 2 {
				places[name] = append(places[name], slices.Clone(below))
			}
			c.findNames(member, below, places)
		}
	}
}
