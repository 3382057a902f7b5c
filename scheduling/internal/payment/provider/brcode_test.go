package provider

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/booking"
)

// tlv reads a template by the rules of EMV QRCPS: two digits of id, two of length.
func tlv(text string) (map[string]string, error) {
	fields := make(map[string]string)
	for text != "" {
		if len(text) < 4 {
			return nil, fmt.Errorf("%q is cut", text)
		}
		length, err := strconv.Atoi(text[2:4])
		if err != nil || len(text) < 4+length || length == 0 {
			return nil, fmt.Errorf("%q has a wrong length", text)
		}
		if fields[text[:2]] != "" {
			return nil, fmt.Errorf("field %s comes twice", text[:2])
		}
		fields[text[:2]], text = text[4:4+length], text[4+length:]
	}
	return fields, nil
}

// parseBRCode checks a payload against the table of fields in the Central Bank's manual.
func parseBRCode(text string) (fields, account, additional map[string]string, err error) {
	if fields, err = tlv(text); err != nil {
		return nil, nil, nil, err
	}
	switch {
	case !strings.HasPrefix(text, "000201"):
		err = fmt.Errorf("payload format indicator is not first")
	case len(text) < 8 || text[len(text)-8:len(text)-4] != "6304":
		err = fmt.Errorf("the checksum is not last")
	case fmt.Sprintf("%04X", crc16(text[:len(text)-4])) != fields["63"]:
		err = fmt.Errorf("the checksum is wrong")
	case fields["52"] == "" || len(fields["52"]) != 4:
		err = fmt.Errorf("no category code")
	case fields["53"] != "986" || fields["58"] != "BR":
		err = fmt.Errorf("not reais in Brazil")
	case fields["59"] == "" || utf8.RuneCountInString(fields["59"]) > 25 || fields["60"] == "" || utf8.RuneCountInString(fields["60"]) > 15:
		err = fmt.Errorf("name or city")
	case len(fields["54"]) > 13:
		err = fmt.Errorf("amount")
	}
	if err != nil {
		return nil, nil, nil, err
	}
	if account, err = tlv(fields["26"]); err != nil {
		return nil, nil, nil, err
	}
	if strings.ToLower(account["00"]) != "br.gov.bcb.pix" || (account["01"] == "") == (account["25"] == "") {
		return nil, nil, nil, fmt.Errorf("not a Pix account")
	}
	additional, err = tlv(fields["62"])
	if err == nil && (additional["05"] == "" || len(additional["05"]) > 25) {
		err = fmt.Errorf("no transaction id")
	}
	return fields, account, additional, err
}

// published are codes from the Central Bank's manual and other issuers' documentation.
var published = []string{
	"00020126580014br.gov.bcb.pix0136123e4567-e12b-12d1-a456-4266554400005204000053039865802BR5913Fulano de Tal6008BRASILIA62070503***63041D3D",
	"00020101021226770014BR.GOV.BCB.PIX2555pix.example.com/qr/93598be0-1bd0-4997-8318-81776a1d8a995204000053039865802BR5907EMPRESA6009SAO PAULO62070503***6304EEAB",
}

func TestPublishedCodesAreReadAndChecked(t *testing.T) {
	t.Parallel()
	require.Equal(t, uint16(0x29B1), crc16("123456789"), "the check value of CRC-16/CCITT-FALSE")
	for _, code := range published {
		_, _, _, err := parseBRCode(code)
		require.NoError(t, err, code)
		broken := []byte(code)
		broken[len(broken)/2] ^= 1
		_, _, _, err = parseBRCode(string(broken))
		require.Error(t, err, string(broken))
	}
}

func TestBRCodeIsThePublishedOne(t *testing.T) {
	t.Parallel()
	code := brCode{key: "123e4567-e12b-12d1-a456-426655440000", merchant: "Fulano de Tal", city: "BRASILIA", amount: 10000, txid: "RP12345678"}.String()
	fields, account, additional, err := parseBRCode(code)
	require.NoError(t, err)
	require.Equal(t, "100.00", fields["54"])
	require.Equal(t, "123e4567-e12b-12d1-a456-426655440000", account["01"])
	require.Equal(t, "RP12345678", additional["05"])
	// But for the amount and the transaction, it is the manual's to the letter.
	require.Equal(t, published[0][:len(published[0])-len("5802BR5913Fulano de Tal6008BRASILIA62070503***63041D3D")], code[:strings.Index(code, "5406100.00")])
}

func TestBRCodeOfArbitraryInput(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("Clínica São João & Filhos — ação ", 10)
	for _, text := range []string{"", "  ", "Açaí", long, "日本", "a\r\nb\x00c", "\xff\xfe", "6304FFFF"} {
		for _, amount := range []booking.Cents{1, 99_999_999_99} {
			code := brCode{key: "123e4567-e12b-12d1-a456-426655440000", description: text, merchant: text, city: text, amount: amount, txid: strings.Repeat("a", 25)}.String()
			fields, account, _, err := parseBRCode(code)
			require.NoError(t, err, "%q", text)
			require.Equal(t, amount.String(), fields["54"])
			require.LessOrEqual(t, len(fields["26"]), 99)
			for i := range len(code) {
				require.True(t, code[i] >= ' ' && code[i] <= '~', "%q", code)
			}
			if text == "Açaí" {
				require.Equal(t, "Acai", fields["59"])
				require.Equal(t, "Acai", account["02"])
			}
		}
	}
}

func FuzzBRCode(f *testing.F) {
	f.Add("Consulta", "Clínica", "São Paulo", int64(100))
	f.Fuzz(func(t *testing.T, description, merchant, city string, amount int64) {
		amount = max(1, min(amount, int64(booking.MaxPrice)))
		code := brCode{key: "k", description: description, merchant: merchant, city: city, amount: booking.Cents(amount), txid: "x"}.String()
		_, _, _, err := parseBRCode(code)
		require.NoError(t, err, code)
	})
}
