package care

// Redact replaces CPFs and diagnosis codes in what people wrote, for readers outside of
// the clinic.
func Redact(text string) string { return redactDiagnoses(RedactCPFs(text)) }

// Truncate shortens a text to a number of characters.
func Truncate(text string, maxLength int) string {
	count := 0
	for i := range text {
		if count == maxLength {
			return text[:i]
		}
		count++
	}
	return text
}
