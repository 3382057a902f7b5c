package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Template names a message that a network has approved, with the values of its variables. The
// members are those of the WhatsApp Cloud API.
type Template struct {
	Name       string              `json:"name" minLength:"1" maxLength:"512" pattern:"^[a-z0-9_]+$" doc:"Name of the template at the network" example:"appointment_reminder"`
	Language   string              `json:"language" minLength:"2" maxLength:"8" pattern:"^[a-z]{2,3}(_[A-Z]{2,4})?$" doc:"Language code of the template, such as pt_BR" example:"pt_BR"`
	Components []TemplateComponent `json:"components,omitempty" maxItems:"12" nullable:"false" doc:"Values of its variables: at most a header, a body and 10 buttons; absent: it has none"`
}

// TemplateComponent has the values of a part of a template.
type TemplateComponent struct {
	Type       string              `json:"type" enum:"header,body,button" doc:"The part"`
	SubType    string              `json:"sub_type,omitempty" enum:"quick_reply,url,copy_code" doc:"Of a button: its kind"`
	Index      string              `json:"index,omitempty" maxLength:"1" pattern:"^[0-9]$" doc:"Of a button: its place, from 0" example:"0"`
	Parameters []TemplateParameter `json:"parameters" minItems:"1" maxItems:"50" nullable:"false" doc:"In the order of the variables; a header and a button have 1"`
}

// TemplateParameter is the value of a variable.
type TemplateParameter struct {
	Type          string            `json:"type" enum:"text,currency,date_time,image,video,document,location,payload,coupon_code" doc:"Which member has the value. A body takes text, currency and date_time; a header also image, video, document and location; a button quick_reply takes payload, url text, copy_code coupon_code"`
	ParameterName string            `json:"parameter_name,omitempty" maxLength:"60" pattern:"^[a-z][a-z0-9_]*$" doc:"Name of the variable, where the template names its variables: then in every parameter of the part" example:"first_name"`
	Text          string            `json:"text,omitempty" maxLength:"2000" doc:"One line; at most 60 characters in a header, 1024 in a body, 2000 at the end of a button's address" example:"Ana"`
	Currency      *TemplateCurrency `json:"currency,omitempty" doc:"An amount of money"`
	DateTime      *TemplateDateTime `json:"date_time,omitempty" doc:"Moment to show, with its text"`
	Image         *TemplateFile     `json:"image,omitempty" doc:"A picture"`
	Video         *TemplateFile     `json:"video,omitempty" doc:"Moving picture to show in the header"`
	Document      *TemplateFile     `json:"document,omitempty" doc:"File to show in the header"`
	Location      *TemplateLocation `json:"location,omitempty" doc:"A place"`
	Payload       string            `json:"payload,omitempty" maxLength:"256" doc:"What the network reports when the button is pressed" example:"confirm-8151"`
	CouponCode    string            `json:"coupon_code,omitempty" maxLength:"20" pattern:"^[A-Za-z0-9]+$" doc:"The code that the button copies" example:"SPRING20"`
}

// TemplateCurrency is an amount of money.
type TemplateCurrency struct {
	FallbackValue string `json:"fallback_value" minLength:"1" maxLength:"60" doc:"The amount as text" example:"R$ 150,00"`
	Code          string `json:"code" maxLength:"3" pattern:"^[A-Z]{3}$" doc:"ISO 4217 code" example:"BRL"`
	Amount1000    int64  `json:"amount_1000" minimum:"-1000000000000000" maximum:"1000000000000000" doc:"Thousandths of the unit" example:"150000"`
}

// TemplateDateTime is a time as text.
type TemplateDateTime struct {
	FallbackValue string `json:"fallback_value" minLength:"1" maxLength:"60" doc:"The time as text" example:"March 2, 10:00"`
}

// TemplateFile is a file of a header: at an address that the network fetches, or uploaded to
// the network before.
type TemplateFile struct {
	Link     string `json:"link,omitempty" maxLength:"2048" doc:"Public https address of the file" example:"https://example.com/map.png"`
	ID       string `json:"id,omitempty" maxLength:"32" pattern:"^[0-9]+$" doc:"Id of the file at the network; in place of link"`
	Filename string `json:"filename,omitempty" maxLength:"240" doc:"Of a document: its name" example:"invoice.pdf"`
}

// TemplateLocation is a place.
type TemplateLocation struct {
	Latitude  float64 `json:"latitude" minimum:"-90" maximum:"90" doc:"Degrees" example:"-23.56"`
	Longitude float64 `json:"longitude" minimum:"-180" maximum:"180" doc:"Degrees" example:"-46.65"`
	Name      string  `json:"name" minLength:"1" maxLength:"100" doc:"Of the place" example:"Studio Bela"`
	Address   string  `json:"address" minLength:"1" maxLength:"200" doc:"Of the place" example:"Rua Augusta 100"`
}

// Bounds of templates.
const (
	maxTemplateName       = 512
	maxTemplateButtons    = 10
	maxTemplateParameters = 50
	maxTemplateHeader     = 60
	maxTemplateText       = 1024
	maxTemplateSuffix     = 2000
	maxTemplatePayload    = 256
	maxTemplateCoupon     = 20
	maxTemplateLink       = 2048
	maxTemplateBody       = 4096 // of its text for people
)

var (
	templateName      = regexp.MustCompile(`^[a-z0-9_]+$`)
	templateLanguage  = regexp.MustCompile(`^[a-z]{2,3}(_[A-Z]{2,4})?$`)
	templateIndex     = regexp.MustCompile(`^[0-9]$`)
	templateVariable  = regexp.MustCompile(`^[a-z][a-z0-9_]{0,59}$`)
	templateCurrency  = regexp.MustCompile(`^[A-Z]{3}$`)
	templateFileID    = regexp.MustCompile(`^[0-9]{1,32}$`)
	templateCouponRun = regexp.MustCompile(`^[A-Za-z0-9]+$`)
)

// templateError is an error of a template's JSON, for callers.
type templateError string

// Error implements error.
func (e templateError) Error() string { return string(e) }

// PublicMessage returns the error for callers.
func (e templateError) PublicMessage() string { return string(e) }

// UnmarshalJSON refuses members that templates do not have: left out, they would be missing
// in the message.
func (t *Template) UnmarshalJSON(raw []byte) error {
	type plain Template
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode((*plain)(t)); err != nil {
		if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
			return templateError("must not have the member " + name)
		}
		return templateError("does not have the documented form: {name, language, components}")
	}
	return nil
}

// Problem returns what is wrong with a template and where, such as ".components[0].type"; ""
// for a valid one.
func (t Template) Problem() (path, problem string) {
	switch {
	case len(t.Name) > maxTemplateName || !templateName.MatchString(t.Name):
		return ".name", "must be 1 to 512 lower-case letters, digits and underscores"
	case !templateLanguage.MatchString(t.Language):
		return ".language", "must be a language code such as pt_BR or en"
	case len(t.Components) > maxTemplateButtons+2:
		return ".components", "must have at most 12 entries"
	}
	parts := make(map[string]bool)
	for i, component := range t.Components {
		path := fmt.Sprintf(".components[%d]", i)
		if problem := component.problem(); problem != "" {
			return path, problem
		}
		part := component.Type + component.Index
		if parts[part] {
			return path, "is there twice: a template has one header, one body, and one button at each index"
		}
		parts[part] = true
		for n, parameter := range component.Parameters {
			if problem := parameter.problem(component); problem != "" {
				return fmt.Sprintf("%s.parameters[%d]", path, n), problem
			}
		}
	}
	return "", ""
}

func (c TemplateComponent) problem() string {
	isButton := c.Type == "button"
	switch {
	case c.Type != "header" && c.Type != "body" && !isButton:
		return "type must be header, body or button"
	case isButton && c.SubType != "quick_reply" && c.SubType != "url" && c.SubType != "copy_code":
		return "sub_type of a button must be quick_reply, url or copy_code"
	case isButton && !templateIndex.MatchString(c.Index):
		return `index of a button must be "0" to "9"`
	case !isButton && (c.SubType != "" || c.Index != ""):
		return "sub_type and index are for buttons only"
	case len(c.Parameters) == 0:
		return "parameters must have at least 1 entry: leave a part without variables out"
	case c.Type != "body" && len(c.Parameters) > 1:
		return "parameters of a header or a button must have 1 entry"
	case len(c.Parameters) > maxTemplateParameters:
		return "parameters must have at most 50 entries"
	}
	for _, parameter := range c.Parameters {
		if (parameter.ParameterName == "") != (c.Parameters[0].ParameterName == "") {
			return "parameters must all have a parameter_name, or none"
		}
	}
	return ""
}

// problem returns what is wrong with a parameter of a component.
func (p TemplateParameter) problem(c TemplateComponent) string {
	if !c.takes(p.Type) {
		return "type does not fit: " + c.takenTypes()
	}
	if p.ParameterName != "" && (c.Type == "button" || !templateVariable.MatchString(p.ParameterName)) {
		return "parameter_name must be lower-case letters, digits and underscores, in a header or body"
	}
	if p.members() != 1 {
		return "must have one value: the member that type names"
	}
	switch p.Type {
	case "text":
		return textProblem(p.Text, c)
	case "currency":
		if p.Currency == nil || !templateCurrency.MatchString(p.Currency.Code) || lineProblem(p.Currency.FallbackValue, maxTemplateHeader) != "" {
			return "currency must have a fallback_value of 1 to 60 characters, a code of three capital letters, and amount_1000"
		}
	case "date_time":
		if p.DateTime == nil || lineProblem(p.DateTime.FallbackValue, maxTemplateHeader) != "" {
			return "date_time must have a fallback_value of 1 to 60 characters"
		}
	case "image", "video", "document":
		return p.fileProblem()
	case "location":
		return p.locationProblem()
	case "payload":
		if p.Payload == "" || len(p.Payload) > maxTemplatePayload || !isText(p.Payload) {
			return "payload must have 1 to 256 bytes"
		}
	case "coupon_code":
		if len(p.CouponCode) > maxTemplateCoupon || !templateCouponRun.MatchString(p.CouponCode) {
			return "coupon_code must have 1 to 20 letters and digits"
		}
	}
	return ""
}

func (p TemplateParameter) locationProblem() string {
	l := p.Location
	if l == nil || l.Latitude < -90 || l.Latitude > 90 || l.Longitude < -180 || l.Longitude > 180 || lineProblem(l.Name, 100) != "" || lineProblem(l.Address, 200) != "" {
		return "location must have latitude, longitude, a name of at most 100 and an address of at most 200 characters"
	}
	return ""
}

// takenTypes are the types of parameters by the part that takes them.
var takenTypes = map[string][]string{
	"header": {"text", "currency", "date_time", "image", "video", "document", "location"}, "body": {"text", "currency", "date_time"},
	"quick_reply": {"payload"}, "url": {"text"}, "copy_code": {"coupon_code"},
}

// kind returns the key of the component in takenTypes.
func (c TemplateComponent) kind() string {
	if c.Type == "button" {
		return c.SubType
	}
	return c.Type
}

func (c TemplateComponent) takes(parameter string) bool {
	for _, taken := range takenTypes[c.kind()] {
		if taken == parameter {
			return true
		}
	}
	return false
}

func (c TemplateComponent) takenTypes() string {
	return "a part of the type " + c.kind() + " takes " + strings.Join(takenTypes[c.kind()], ", ")
}

// members returns how many values a parameter has; one that is not of its type counts twice.
func (p TemplateParameter) members() (count int) {
	for kind, isThere := range map[string]bool{
		"text": p.Text != "", "currency": p.Currency != nil, "date_time": p.DateTime != nil, "image": p.Image != nil, "video": p.Video != nil,
		"document": p.Document != nil, "location": p.Location != nil, "payload": p.Payload != "", "coupon_code": p.CouponCode != "",
	} {
		switch {
		case isThere && kind == p.Type:
			count++
		case isThere:
			count += 2
		}
	}
	return count
}

func (p TemplateParameter) file() *TemplateFile {
	switch p.Type {
	case "image":
		return p.Image
	case "video":
		return p.Video
	case "document":
		return p.Document
	}
	return nil
}

func (p TemplateParameter) fileProblem() string {
	file := p.file()
	switch {
	case file == nil || (file.Link == "") == (file.ID == ""):
		return p.Type + " must have either link or id"
	case file.ID != "" && !templateFileID.MatchString(file.ID):
		return p.Type + ".id must be 1 to 32 digits"
	case file.Filename != "" && (p.Type != "document" || lineProblem(file.Filename, 240) != ""):
		return "filename is for documents: at most 240 characters on one line"
	}
	if file.Link == "" {
		return ""
	}
	link, err := url.Parse(file.Link)
	if err != nil || link.Scheme != "https" || link.Host == "" || link.User != nil || len(file.Link) > maxTemplateLink {
		return p.Type + ".link must be an absolute https URL of at most 2048 characters"
	}
	return ""
}

// textProblem returns what is wrong with a text in a component.
func textProblem(text string, c TemplateComponent) string {
	switch c.Type {
	case "header":
		return lineProblem(text, maxTemplateHeader)
	case "button":
		return lineProblem(text, maxTemplateSuffix)
	}
	return lineProblem(text, maxTemplateText)
}

// lineProblem returns what is wrong with a text that the network accepts on one line only: it
// refuses line ends, tabs and more than four spaces in a row.
func lineProblem(text string, maxRunes int) string {
	switch {
	case strings.TrimSpace(text) == "" || utf8.RuneCountInString(text) > maxRunes:
		return fmt.Sprintf("text must have 1 to %d characters", maxRunes)
	case strings.ContainsAny(text, "\n\r\t") || strings.Contains(text, "     ") || !isText(text):
		return "text must be one line without tabs, control characters and more than 4 spaces in a row"
	}
	return ""
}

// isText reports whether a text is valid UTF-8 without control characters.
func isText(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f })
}
