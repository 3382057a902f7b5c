import { type CSSVariablesResolver, createTheme } from "@mantine/core";

export const theme = createTheme({
	primaryColor: "indigo",
	primaryShade: { light: 8, dark: 8 },
	fontFamily: "Inter, system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",
	fontFamilyMonospace: "var(--hub-mono)",
	defaultRadius: "md",
	cursorType: "pointer",
	respectReducedMotion: true,
	components: {
		Tooltip: { defaultProps: { withArrow: true, openDelay: 200, events: { hover: true, focus: true, touch: true } } },
	},
});

// Mantine's greys are warm; fields, switches and radios are to have the canvas's hue.
const darkGreys = { "--mantine-color-dark-4": "#3b4352", "--mantine-color-dark-5": "#323a48", "--mantine-color-dark-6": "#222833" };

/** Mantine's own quiet colours have too little contrast for WCAG AA. */
export const cssVariables: CSSVariablesResolver = () => {
	const own = {
		"--mantine-color-body": "var(--hub-surface)",
		"--mantine-color-text": "var(--hub-text)",
		"--mantine-color-dimmed": "var(--hub-quiet)",
		"--mantine-color-placeholder": "var(--hub-quiet)",
		"--mantine-color-error": "var(--hub-bad)",
		"--mantine-color-default-border": "var(--hub-line)",
		"--mantine-color-default": "var(--hub-surface)",
		"--mantine-color-default-hover": "var(--hub-hover)",
		"--mantine-color-anchor": "var(--hub-accent-text)",
	};
	return { variables: {}, light: own, dark: { ...own, ...darkGreys } };
};
