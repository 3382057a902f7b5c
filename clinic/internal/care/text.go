package care

// Redact replaces CPFs and diagnosis codes in what people wrote, for readers outside of
// the clinic.
func Redact(text string) string { return redactDiagnoses(RedactCPFs(text)) }

// Truncate shortens a text to a number of characters.
func Truncate(text string, maxLength int) string {
	if len(text) <= maxLength {
		return text
	}
	if runes := []rune(text); len(runes) > maxLength {
		return string(runes[:maxLength])
	}
	return text
}
