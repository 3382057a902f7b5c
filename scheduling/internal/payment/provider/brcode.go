package provider

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"

	"integrationhub/scheduling/internal/booking"
)

// brCode is a static BR Code: the payload of a Pix QR code (EMV QRCPS merchant
// presented mode; Banco Central, "Manual de padrões para iniciação do Pix").
type brCode struct {
	key         string // Pix key, at most 77 characters
	description string // "" = none; cut to what the template holds
	merchant    string // cut at 25 characters
	city        string // cut at 15 characters
	amount      booking.Cents
	txid        string // 1 to 25 letters and digits
}

// Field ids.
const (
	idFormat      = "00"
	idMerchant    = "26"
	idCategory    = "52"
	idCurrency    = "53"
	idAmount      = "54"
	idCountry     = "58"
	idName        = "59"
	idCity        = "60"
	idAdditional  = "62"
	idCRC         = "63"
	idGUI         = "00" // in idMerchant
	idKey         = "01"
	idDescription = "02"
	idTxID        = "05" // in idAdditional
)

// maxFieldLength is the longest value two length digits can describe.
const maxFieldLength = 99

// String returns the payload with its checksum.
func (c brCode) String() string {
	account := field(idGUI, "br.gov.bcb.pix") + field(idKey, c.key)
	if text := plainASCII(c.description, maxFieldLength-len(account)-len(idDescription)-2); text != "" {
		account += field(idDescription, text)
	}
	payload := field(idFormat, "01") + field(idMerchant, account) + field(idCategory, "0000") + field(idCurrency, "986") +
		field(idAmount, c.amount.String()) + field(idCountry, "BR") + field(idName, orDash(plainASCII(c.merchant, 25))) +
		field(idCity, orDash(plainASCII(c.city, 15))) + field(idAdditional, field(idTxID, c.txid)) + idCRC + "04"
	return payload + fmt.Sprintf("%04X", crc16(payload))
}

// field formats an id, the value's length and the value, which must be ASCII.
func field(id, value string) string { return fmt.Sprintf("%s%02d%s", id, len(value), value) }

// crc16 is CRC-16/CCITT-FALSE (polynomial 0x1021, initial value 0xFFFF).
func crc16(text string) uint16 {
	crc := uint16(0xFFFF)
	for i := range len(text) {
		crc ^= uint16(text[i]) << 8
		for range 8 {
			carry := crc&0x8000 != 0
			crc <<= 1
			if carry {
				crc ^= 0x1021
			}
		}
	}
	return crc
}

// plainASCII removes accents and other non-ASCII characters, for banks that read no
// others, and cuts the text to maxLength characters.
func plainASCII(text string, maxLength int) string {
	plain, _, err := transform.String(transform.Chain(norm.NFD, runes.Remove(runes.In(unicode.Mn))), text)
	if err != nil {
		plain = text
	}
	plain = strings.Map(func(char rune) rune {
		if char < ' ' || char > '~' {
			return ' '
		}
		return char
	}, plain)
	plain = strings.Join(strings.Fields(plain), " ")
	return strings.TrimSpace(plain[:min(len(plain), max(maxLength, 0))])
}

// orDash replaces an empty text, for fields that must not be empty.
func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
