package fhir

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// ParameterError is a parameter that is invalid or not supported. It has no value of the
// request.
type ParameterError struct {
	Parameter   string
	Message     string // what it must be
	Unsupported bool   // FHIR has it, the facade has not
}

// Error implements error.
func (f *ParameterError) Error() string { return f.Parameter + " " + f.Message }

// Bounds of a search. Each repetition of a parameter is a condition; each value between commas
// is an alternative.
const (
	maxRepetitions  = 10
	maxAlternatives = 200
)

// repeatedParams are the parameters of the result that can be given several times.
var repeatedParams = []string{ParamInclude, ParamRevInclude}

// ParseSearchParams returns the supported parameters, and the names of those that are ignored:
// unknown ones, and those of the result with a value that is not supported. If strict, they
// are an error. Unsupported modifiers are always an error.
func ParseSearchParams(resourceType string, requested url.Values, strict bool) (params url.Values, ignored []string, err error) {
	supported := SearchParams(resourceType)
	params = url.Values{}
	for _, name := range slices.Sorted(maps.Keys(requested)) {
		values := slices.DeleteFunc(slices.Clone(requested[name]), func(text string) bool { return text == "" })
		if len(values) == 0 {
			continue // forms send empty fields too
		}
		isServed, err := checkParam(supported, name, values)
		if err != nil {
			return nil, nil, err
		}
		if isServed && slices.ContainsFunc(values, isNotText) {
			return nil, nil, &ParameterError{name, "must be text", false}
		}
		kept := values
		switch {
		case !isServed:
			kept = nil
		case name == ParamSort:
			if _, ok := ParseSort(resourceType, values[0]); !ok {
				kept = nil
			}
		case slices.Contains(repeatedParams, name):
			kept = slices.DeleteFunc(slices.Clone(values), func(value string) bool {
				_, ok := parseInclude(resourceType, value, name == ParamRevInclude)
				return !ok
			})
		}
		if len(kept) < len(values) {
			if strict {
				return nil, nil, unsupportedParam(resourceType, supported, name)
			}
			ignored = append(ignored, sanitizeName(name))
		}
		if len(kept) > 0 {
			params[name] = kept
		}
	}
	return params, ignored, nil
}

// checkParam reports whether a parameter is served. It is an error if the parameter is given
// too often, or with an unsupported modifier.
func checkParam(supported []SearchParam, name string, values []string) (isServed bool, err error) {
	baseName, modifier, hasModifier := strings.Cut(name, ":")
	i := slices.IndexFunc(supported, func(searchParam SearchParam) bool { return searchParam.Name == baseName })
	switch {
	case hasModifier && (i < 0 || !slices.Contains(supported[i].Modifiers, modifier)):
		return false, &ParameterError{sanitizeName(name), "has a modifier that is not supported; " + listModifiers(supported), true}
	case i >= 0 || slices.Contains(repeatedParams, name):
		if len(values) > maxRepetitions || slices.ContainsFunc(values, hasTooManyAlternatives) {
			return false, &ParameterError{name, fmt.Sprintf("can be given %d times, each with %d values", maxRepetitions, maxAlternatives), false}
		}
		return true, nil
	case slices.Contains(ResultParams, name):
		if len(values) > 1 || hasTooManyAlternatives(values[0]) {
			return false, &ParameterError{name, fmt.Sprintf("can be given once, with %d values", maxAlternatives), false}
		}
		return true, nil
	}
	return false, nil
}

// unsupportedParam returns the error of a parameter that a strict caller must not give.
func unsupportedParam(resourceType string, supported []SearchParam, name string) error {
	message := "is not supported: " + listNames(supported) + " are"
	switch name {
	case ParamSort:
		message = "has a value that is not supported: " + strings.Join(sortNames(supported), ", ") + " are"
	case ParamInclude:
		message = "has a value that is not supported: " + strings.Join(Includes(resourceType), ", ") + " are"
	case ParamRevInclude:
		message = "has a value that is not supported: " + strings.Join(RevIncludes(resourceType), ", ") + " are"
	}
	return &ParameterError{sanitizeName(name), message, true}
}

func hasTooManyAlternatives(value string) bool { return strings.Count(value, ",") >= maxAlternatives }

func isNotText(value string) bool { return !utf8.ValidString(value) || strings.ContainsRune(value, 0) }

// sanitizeName returns a parameter's name up to the first character that no parameter has.
func sanitizeName(name string) string {
	const maxLength = 60
	for i, c := range name {
		if i >= maxLength || !strings.ContainsRune("_-:.", c) && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return name[:i] + "…"
		}
	}
	return name
}

func listNames(params []SearchParam) string {
	var names []string
	for _, param := range params {
		names = append(names, param.Name)
	}
	return strings.Join(append(names, ResultParams...), ", ")
}

func listModifiers(params []SearchParam) string {
	var names []string
	for _, param := range params {
		for _, modifier := range param.Modifiers {
			names = append(names, param.Name+":"+modifier)
		}
	}
	if len(names) == 0 {
		return "no parameter has one here"
	}
	return "there are only " + strings.Join(names, ", ")
}
