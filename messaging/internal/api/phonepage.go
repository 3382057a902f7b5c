package api

import (
	"context"
	"embed"

	"github.com/danielgtaylor/huma/v2"

	"integrationhub/hub/module/rest"
)

//go:embed phonepage
var phoneAssets embed.FS

// phonePolicy lets the page load what the hub serves and nothing else; pictures of messages
// may be data URLs.
const phonePolicy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

type phoneAssetOutput struct {
	ContentType string `header:"Content-Type"`
	Policy      string `header:"Content-Security-Policy"`
	Referrer    string `header:"Referrer-Policy"`
	Body        []byte
}

// bindPhoneAsset binds a file of the page of phones.
func bindPhoneAsset(mediaType, name string) rest.Binder {
	return func(api huma.API, op huma.Operation) {
		huma.Register(api, op, func(context.Context, *struct{}) (*phoneAssetOutput, error) {
			content, err := phoneAssets.ReadFile("phonepage/" + name)
			return &phoneAssetOutput{mediaType, phonePolicy, "no-referrer", content}, err
		})
	}
}
