package config

import (
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Setting describes one setting. It has the values of its field's tags.
type Setting struct {
	Name    string // key in the file: "public_url"
	Env     string // variable: "HUB_PUBLIC_URL"
	Flag    string // "public-url", given as --public-url; "" where it has none
	Group   string // heading in the reference
	Default string // "" = empty
	Unit    string // what a value looks like
	Example string //
	Doc     string // what it does
	Secret  bool   // never shown
	min     string
	max     string
	index   int // of the field
}

// envPrefix begins the name of every environment variable of the hub.
const envPrefix = "HUB_"

// Settings lists every setting in the order of the fields.
func Settings() []Setting {
	fields := reflect.TypeFor[Config]()
	list := make([]Setting, 0, fields.NumField())
	for i := range fields.NumField() {
		tag := fields.Field(i).Tag
		setting := Setting{
			Name: tag.Get("name"), Group: tag.Get("group"), Default: tag.Get("default"), Unit: tag.Get("unit"),
			Example: tag.Get("example"), Doc: tag.Get("doc"),
			Secret: fields.Field(i).Type == reflect.TypeFor[Secret](),
			min:    tag.Get("min"), max: tag.Get("max"), index: i,
		}
		setting.Env = envPrefix + strings.ToUpper(setting.Name)
		if tag.Get("flag") != "-" {
			setting.Flag = strings.ReplaceAll(setting.Name, "_", "-")
		}
		list = append(list, setting)
	}
	return list
}

// set parses text into the setting's field of c. The error does not quote secrets.
func (s Setting) set(c *Config, text string) error {
	field := reflect.ValueOf(c).Elem().Field(s.index)
	switch target := field.Addr().Interface().(type) {
	case *string:
		*target = text
	case *Secret:
		*target = Secret(text)
	case *int:
		value, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil {
			return fmt.Errorf("%q is not a whole number (%s)", text, s.Unit)
		}
		*target = value
	case *time.Duration:
		value, err := ParseDuration(text)
		if err != nil {
			return err
		}
		*target = value
	case *Assignments:
		value, err := parseAssignments(text)
		if err != nil {
			return err
		}
		*target = value
	case *[]netip.Prefix:
		value, err := parsePrefixes(text)
		if err != nil {
			return err
		}
		*target = value
	default:
		return fmt.Errorf("setting of type %s cannot be read", field.Type())
	}
	return nil
}

// get returns the setting's value as text; secrets are redacted.
func (s Setting) get(c Config) string {
	switch value := reflect.ValueOf(c).Field(s.index).Interface().(type) {
	case time.Duration:
		return FormatDuration(value)
	case Assignments:
		texts := make([]string, 0, len(value))
		for _, product := range slices.Sorted(maps.Keys(value)) {
			texts = append(texts, product+"="+value[product])
		}
		return strings.Join(texts, ",")
	case []netip.Prefix:
		texts := make([]string, len(value))
		for i, prefix := range value {
			texts[i] = prefix.String()
		}
		return strings.Join(texts, ",")
	default:
		return fmt.Sprint(value)
	}
}

// outOfRange returns how the value violates the setting's bounds, or "".
func (s Setting) outOfRange(c Config) string {
	if s.min == "" {
		return ""
	}
	var low, high, value int64
	switch bound := reflect.ValueOf(c).Field(s.index).Interface().(type) {
	case int:
		low, _ = strconv.ParseInt(s.min, 10, 64) // a test reads every bound
		high, _ = strconv.ParseInt(s.max, 10, 64)
		value = int64(bound)
	case time.Duration:
		shortest, _ := ParseDuration(s.min)
		longest, _ := ParseDuration(s.max)
		low, high, value = int64(shortest), int64(longest), int64(bound)
	}
	if value < low || value > high {
		return fmt.Sprintf("is %s; it must be from %s to %s", s.get(c), s.min, s.max)
	}
	return ""
}

// ParseDuration reads a duration: Go's form ("90s", "1h30m"), and days ("30d",
// "1d12h"). Negative ones are refused.
func ParseDuration(text string) (time.Duration, error) {
	text = strings.TrimSpace(text)
	bad := fmt.Errorf("%q is not a duration such as 10s, 30m, 12h or 30d", text)
	rest := text
	var days time.Duration
	if count, after, found := strings.Cut(text, "d"); found {
		number, err := strconv.ParseUint(count, 10, 16)
		if err != nil {
			return 0, bad
		}
		days, rest = time.Duration(number)*24*time.Hour, after
		if rest == "" {
			return days, nil
		}
	}
	clock, err := time.ParseDuration(rest)
	if err != nil || clock < 0 {
		return 0, bad
	}
	return days + clock, nil
}

// FormatDuration writes a duration the short way: "30d", "1h30m", "10s".
func FormatDuration(value time.Duration) string {
	const day = 24 * time.Hour
	if value >= day && value%day == 0 {
		return strconv.FormatInt(int64(value/day), 10) + "d"
	}
	text := value.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// parseAssignments reads a comma-separated list of product=value.
func parseAssignments(text string) (Assignments, error) {
	list := make(Assignments)
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		product, value, found := strings.Cut(item, "=")
		if product, value = strings.TrimSpace(product), strings.TrimSpace(value); !found || product == "" || value == "" {
			return nil, fmt.Errorf("%q is not of the form product=value", item)
		}
		if _, twice := list[product]; twice {
			return nil, fmt.Errorf("%s is named twice", product)
		}
		list[product] = value
	}
	return list, nil
}

// parsePrefixes reads a comma-separated list of CIDRs; a bare address is itself.
func parsePrefixes(text string) ([]netip.Prefix, error) {
	var list []netip.Prefix
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		if address, err := netip.ParseAddr(item); err == nil {
			list = append(list, netip.PrefixFrom(address, address.BitLen()))
			continue
		}
		prefix, err := netip.ParsePrefix(item)
		if err != nil {
			return nil, fmt.Errorf("%q is not a CIDR such as 10.20.0.0/16", item)
		}
		list = append(list, prefix.Masked())
	}
	return list, nil
}
