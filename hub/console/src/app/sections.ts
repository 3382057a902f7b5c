// The navigation, in its order. Labels are keys of the catalogues' "nav".
export const sections = [{ title: "observe", screens: [{ to: "/deliveries", label: "deliveries" }] }] as const;
