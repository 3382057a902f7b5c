package cloud

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/driver"
)

// maxCards is how many of the contact cards in one message are shown.
const maxCards = 20

// incoming is a received message.
type incoming struct {
	ID        string `json:"id"`
	From      string `json:"from"`
	Timestamp string `json:"timestamp"` // Unix seconds
	Type      string `json:"type"`
	Text      struct {
		Body string `json:"body"`
	} `json:"text"`
	Image       *incomingFile `json:"image"`
	Video       *incomingFile `json:"video"`
	Audio       *incomingFile `json:"audio"`
	Document    *incomingFile `json:"document"`
	Sticker     *incomingFile `json:"sticker"`
	Location    location      `json:"location"`
	Contacts    []contactCard `json:"contacts"`
	Reaction    reaction      `json:"reaction"`
	Button      buttonAnswer  `json:"button"`
	Interactive interactive   `json:"interactive"`
	Order       struct {
		Text string `json:"text"`
	} `json:"order"`
	Context *struct{ ID string } `json:"context"`
}

type incomingFile struct {
	ID       string `json:"id"`
	MimeType string `json:"mime_type"`
	Caption  string `json:"caption"`
	Filename string `json:"filename"`
}

type location struct {
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
	Name      string  `json:"name"`
	Address   string  `json:"address"`
}

// text returns a place as people write it, with a link to a map.
func (l location) text() string {
	position := strconv.FormatFloat(l.Latitude, 'f', -1, 64) + "," + strconv.FormatFloat(l.Longitude, 'f', -1, 64)
	return lines(l.Name, l.Address, "https://maps.google.com/?q="+position)
}

// contactCard is a person whose address a contact sends.
type contactCard struct {
	Name struct {
		Formatted string `json:"formatted_name"`
	} `json:"name"`
	Phones []struct {
		Phone string `json:"phone"`
	} `json:"phones"`
	Emails []struct {
		Email string `json:"email"`
	} `json:"emails"`
}

func (c contactCard) text() string {
	parts := []string{c.Name.Formatted}
	for _, phone := range c.Phones {
		parts = append(parts, phone.Phone)
	}
	for _, email := range c.Emails {
		parts = append(parts, email.Email)
	}
	return lines(parts...)
}

// reaction is an emoji at a message; none takes it back.
type reaction struct {
	MessageID string `json:"message_id"`
	Emoji     string `json:"emoji"`
}

// buttonAnswer is a button of a template that was pressed.
type buttonAnswer struct {
	Text string `json:"text"`
}

// interactive is the answer to a message with buttons, a list or a form.
type interactive struct {
	Button title `json:"button_reply"`
	List   title `json:"list_reply"`
	Form   struct {
		Body string `json:"body"`
	} `json:"nfm_reply"`
}

type title struct {
	Title string `json:"title"`
}

// lines joins the texts that are not empty, a line each.
func lines(texts ...string) string {
	var out []string
	for _, text := range texts {
		if text = strings.TrimSpace(text); text != "" {
			out = append(out, text)
		}
	}
	return strings.Join(out, "\n")
}

// toIncoming returns a message as the product knows it. What nobody wrote is none: a
// reaction that was taken back, and the network's own notices.
func (d *Driver) toIncoming(connection int64, m incoming, name string) (in driver.Incoming, isMessage bool) {
	in = driver.Incoming{ConnectionID: connection, RemoteID: m.ID, From: m.From, Name: strings.TrimSpace(name), At: d.host.Now().UTC()}
	if seconds, err := strconv.ParseInt(m.Timestamp, 10, 64); err == nil {
		in.At = time.Unix(seconds, 0).UTC()
	}
	if m.Context != nil {
		in.QuotedRemoteID = m.Context.ID
	}
	if kind, file := m.file(); file != nil {
		in.Body = file.Caption
		in.Media = &driver.IncomingMedia{Type: kind, MimeType: file.MimeType, Name: file.Filename, Reference: file.ID}
		return in, true
	}
	switch m.Type {
	case "system", "request_welcome":
		return in, false
	case "reaction":
		in.Body, in.QuotedRemoteID = m.Reaction.Emoji, m.Reaction.MessageID
		return in, in.Body != ""
	case "text":
		in.Body = m.Text.Body
	case "location":
		in.Kind, in.Body = chat.MediaLocation, m.Location.text()
	case "contacts":
		var cards []string
		for _, card := range m.Contacts[:min(len(m.Contacts), maxCards)] {
			cards = append(cards, card.text())
		}
		in.Kind, in.Body = chat.MediaContact, lines(cards...)
	case "button":
		in.Body = m.Button.Text
	case "interactive":
		in.Body = cmp.Or(m.Interactive.Button.Title, m.Interactive.List.Title, m.Interactive.Form.Body)
	case "order":
		in.Body = cmp.Or(m.Order.Text, "[order]")
	}
	if strings.TrimSpace(in.Body) == "" { // of a kind that this API does not pass on, or that came after this code
		in.Body = "[unsupported message]"
	}
	return in, true
}

// file returns the file of a message and its kind, or nil.
func (m incoming) file() (chat.MediaType, *incomingFile) {
	switch {
	case m.Image != nil:
		return chat.MediaImage, m.Image
	case m.Video != nil:
		return chat.MediaVideo, m.Video
	case m.Audio != nil:
		return chat.MediaAudio, m.Audio
	case m.Document != nil:
		return chat.MediaDocument, m.Document
	case m.Sticker != nil:
		return chat.MediaSticker, m.Sticker
	}
	return chat.MediaText, nil
}
