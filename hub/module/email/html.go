// Package email renders the bodies of emails.
package email

import (
	"html"
	"strings"
)

// RenderHTML renders plain text in a language as simple HTML: paragraphs, and a link for
// each line that is a URL.
func RenderHTML(language, text string) string {
	var b strings.Builder
	b.WriteString(`<!doctype html><html lang="` + language + `"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"></head>` +
		`<body style="margin:0;padding:24px;font:16px/1.5 sans-serif;color:#1f2933"><div style="max-width:560px;margin:0 auto">`)
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		lines := strings.Split(paragraph, "\n")
		for i, line := range lines {
			lines[i] = html.EscapeString(line)
			if strings.HasPrefix(line, "https://") || strings.HasPrefix(line, "http://") {
				lines[i] = `<a href="` + lines[i] + `">` + lines[i] + `</a>`
			}
		}
		b.WriteString(`<p style="overflow-wrap:anywhere">` + strings.Join(lines, "<br>") + "</p>")
	}
	b.WriteString("</div></body></html>")
	return b.String()
}
