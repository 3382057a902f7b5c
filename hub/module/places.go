package module

import "context"

// EnterFunc takes a place among those of a tenant for requests without a login, or waits for one;
// leave frees it. Above the limit it returns a [hub.ErrRateLimited].
type EnterFunc func(ctx context.Context, slug string, callsOut bool) (leave func(), err error)

type placesKey struct{}

// WithPlaces returns a context with the places for requests without a login, in which the hub
// serves a [PageProvider]. They are those of the product's operations.
func WithPlaces(ctx context.Context, enter EnterFunc) context.Context {
	return context.WithValue(ctx, placesKey{}, enter)
}

// EnterPage takes a place for a page of the tenant with this slug, as [EnterFunc] says. The hub does
// not know which part of a page's path names its tenant. callsOut is true for a page that waits for
// other systems. Without places in the context it does nothing.
func EnterPage(ctx context.Context, slug string, callsOut bool) (leave func(), err error) {
	enter, ok := ctx.Value(placesKey{}).(EnterFunc)
	if !ok {
		return func() {}, nil
	}
	return enter(ctx, slug, callsOut)
}
