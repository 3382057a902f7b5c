// Draws the reference. Everything that would leave this origin is off: the fonts, the proxy,
// telemetry, and the services of Scalar's own site.
const base = document.documentElement.dataset.base;
Scalar.createApiReference("#reference", {
	url: `${base}/openapi.json`,
	servers: [{ url: location.origin + base, description: "This server" }],
	proxyUrl: "",
	withDefaultFonts: false,
	telemetry: false,
	persistAuth: false,
	hideClientButton: true,
	showDeveloperTools: "never",
	documentDownloadType: "direct",
	agent: { disabled: true },
	mcp: { disabled: true },
	defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
});
