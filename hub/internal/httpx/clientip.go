package httpx

import (
	"net/netip"
	"strings"

	"github.com/gofiber/fiber/v2"
)

// ClientIP is the address of who is at the other end. Behind trusted proxies it is
// the last one in X-Forwarded-For that is not a proxy of ours: earlier ones can be
// made up by the client.
func ClientIP(c *fiber.Ctx, trusted []netip.Prefix) string {
	remote, ok := netip.AddrFromSlice(c.Context().RemoteIP())
	if !ok {
		return ""
	}
	address := remote.Unmap()
	hops := strings.Split(c.Get(fiber.HeaderXForwardedFor), ",")
	for i := len(hops) - 1; i >= 0 && isTrusted(address, trusted); i-- {
		hop, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		address = hop.Unmap().WithZone("")
	}
	return address.String()
}

func isTrusted(address netip.Addr, trusted []netip.Prefix) bool {
	for _, prefix := range trusted {
		if prefix.Contains(address) {
			return true
		}
	}
	return false
}
