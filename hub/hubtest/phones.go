package hubtest

// Phone is a phone number as people write it, and what every part of the hub has to
// make of it.
type Phone struct {
	Written string
	E164    string
	Short   string // without the ninth digit; "" where it has none
}

// Phones are the cases that all who read phone numbers share: what one part finds under
// a number, another must forget under it.
var Phones = []Phone{
	{"+5511987654321", "+5511987654321", "+551187654321"},
	{"5511987654321", "+5511987654321", "+551187654321"},
	{"(11) 98765-4321", "+5511987654321", "+551187654321"},
	{"011 98765-4321", "+5511987654321", "+551187654321"},
	{"11.96000.0000", "+5511960000000", "+551160000000"},
	{"+55 55 98765-4321", "+5555987654321", "+555587654321"}, // an area that looks like the country
	{"55 98765-4321", "+5555987654321", "+555587654321"},
	// No number begins with 0 or 1: without their nine these are nobody else's.
	{"+55 11 91234-5678", "+5511912345678", "+551112345678"},
	{"+55 11 90123-4567", "+5511901234567", "+551101234567"},
	// Mobiles that were never without their nine: what is left is somebody's landline.
	{"+55 11 92222-3333", "+5511922223333", ""},
	{"+55 11 93333-4444", "+5511933334444", ""},
	{"+55 11 95999-9999", "+5511959999999", ""},
	// Landlines.
	{"(11) 2345-6789", "+551123456789", ""},
	{"11 3333-4444", "+551133334444", ""},
	{"+55 11 5999-9999", "+551159999999", ""},
	// Elsewhere.
	{"+1 (212) 555-1234", "+12125551234", ""},
	{"+34 987 654 321", "+34987654321", ""},
	{"+351 912 345 678", "+351912345678", ""},
}
